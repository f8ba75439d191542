"""What other programs read and write over HTTP; mounted beside the pages (design section 12)."""
