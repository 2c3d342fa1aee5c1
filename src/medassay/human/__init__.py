"""People: annotation protocols, the study and its store, the web pages, agreement.

`medassay.human.agreement` needs NumPy alone; everything else needs the extra `serve`.
"""
