package emoji

// Table is what tests look at from outside.
const Table = table
