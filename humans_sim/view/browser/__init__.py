"""The viewer's pages in a browser."""
