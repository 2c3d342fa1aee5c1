"""Reading a report: sentences, sections, entities, relations, assertions, concepts, the report graph."""
