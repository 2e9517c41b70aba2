package survey

// After is where a list of households goes on after one.
func After(household string) spot { return spot{After: household} }
