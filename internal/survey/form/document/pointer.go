package document

// MaxRepeats is how many elements a repeat may have.
const MaxRepeats = 200

const (
	maxMissing = 100  // pointers in a LanguageReport
	maxChanges = 1000 // changes in a Difference
)
