package survey

// Limits. They are part of the API: the reference names them. Those of what
// the maker of a campaign decides are in package plan.
const (
	maxBody       = 256 << 10 // bytes of a record
	maxRounds     = 200
	maxCandidates = 20  // surveys of one template
	maxExamined   = 300 // rows one page of a filtered list looks at
)
