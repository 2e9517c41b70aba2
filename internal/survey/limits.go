package survey

// Limits. They are part of the API: the reference names them. Those of what
// the maker of a campaign decides are in package campaign.
const (
	maxBody       = 1 << 20 // bytes of a record
	maxRounds     = 200
	maxCandidates = 20  // surveys of one template
	maxExamined   = 300 // rows one page of a filtered list looks at
)

// What is cached weighs about as many bytes.
const (
	maxCached  = 64 << 20 // of all campaigns in the cache
	cachedBase = 4 << 10  // what a campaign weighs besides its record
	perByte    = 4        // what a byte of its record weighs
)
