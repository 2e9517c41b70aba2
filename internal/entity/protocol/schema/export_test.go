package schema

// Add puts a type into the table. Call it before anything reads the table.
func Add(t Type) { types = append(types, t) }
