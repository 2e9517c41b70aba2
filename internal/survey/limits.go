package survey

// Limits. They are part of the API: the reference names them.
const (
	maxBody       = 1 << 20 // bytes of a record
	maxRounds     = 200
	maxCandidates = 20  // surveys of one template
	maxExamined   = 300 // rows one page of a filtered list looks at
)

// What is cached weighs about as many bytes.
const (
	maxCached  = 64 << 20 // of all campaigns in the cache
	cachedBase = 4 << 10  // weight of a campaign besides its record
	perByte    = 4        // what a byte of its record weighs
)

// Limits of what the maker of a campaign decides.
const (
	MaxName       = 200  // characters
	maxNote       = 1000 // characters
	MaxStrata     = 200
	MaxExpression = 2000 // characters
	MaxUpload     = 1000 // households in one call
	MaxFields     = 100  // problems named in one answer

	maxDescription = 4000 // characters; of instructions in one language too
	maxSections    = 100
	maxStages      = 2 // figures support no more
	maxClusters    = 10_000
	maxTotals      = 20
	maxValues      = 200 // of one total
	maxCollectors  = 500
	maxRules       = 500  // assignments
	maxRuleHomes   = 1000 // households named in all assignments together
	maxRuleNames   = 100  // strata or areas of one assignment
	maxLanguages   = 20
	maxMaterials   = 50
	maxAutoRules   = 50
	maxStratum     = 100      // characters of a stratum or an area
	maxMetadata    = 16 << 10 // bytes
	maxAttributes  = 2 << 10  // bytes of a household's attributes
	maxSize        = 1e9      // of a sample or a population
)
