package form

// Cells are what a table says of one response, or of one entry of a repeat, by
// the names of the columns that an export has.
type Cells struct {
	Values  map[string]string
	Entries map[string][]*Cells // of repeats that are tables of their own, by their names
	// Plain has values as other programs write them: several choices with spaces
	// between them, yes and no, a place in one cell.
	Plain bool
}

// WrongCell is a cell that no answer can be made of. It does not repeat the
// cell, which may be about a person.
type WrongCell struct{ Column, Detail string }

// CellSeparator joins several values in one cell.
const CellSeparator = ";"

// Place is where a question or a repeat stands in files.
type Place struct {
	Column string   // of an export; of a repeat the name of its table
	Path   []string // section, groups and repeats, and its own id, as other programs call them
	Repeat bool
	Geo    bool // it tells where somebody is
	Media  bool // it names a file that was sent
}
