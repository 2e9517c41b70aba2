package form

// Cells are the values of one response, or of one entry of a repeat, in a
// table, by the names of an export's columns.
type Cells struct {
	Values  map[string]string
	Entries map[string][]*Cells // of repeats that are tables of their own, by their names
	// Plain means that values are written as in other programs: several choices
	// with spaces between them, yes and no, a place in one cell.
	Plain bool
}

// WrongCell is a cell that cannot be converted to an answer. It does not repeat
// the cell, which may be about a person.
type WrongCell struct{ Column, Detail string }

// CellSeparator joins several values in one cell.
const CellSeparator = ";"

// Place is where a question or a repeat appears in files.
type Place struct {
	Column string   // of an export; of a repeat the name of its table
	Path   []string // section, groups and repeats, and its own id, as other programs call them
	Repeat bool
	Geo    bool // it says where somebody is
	Media  bool // it names a file that was sent
}
