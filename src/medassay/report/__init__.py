"""What a person looks at: the HTML page and the terminal tables."""
