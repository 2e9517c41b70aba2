package api

import "time"

// SampleDesignDraft asks for a sample design.
type SampleDesignDraft struct {
	DesignID       string                `json:"designId,omitzero" doc:"Made by the server when absent: letters, digits, dot, dash and underscore, at most 100. A key that is limited to projects leaves it out." example:"kitui-2026"`
	Name           string                `json:"name,omitzero"`
	ProjectID      string                `json:"projectId" doc:"DID of the project." example:"did:ixo:entity:123"`
	SurveyID       string                `json:"surveyId,omitzero" doc:"The survey whose list a draw makes. Its confidence, precision, margin, tail and parameterType must be those of the design where it says them."`
	ParameterType  string                `json:"parameterType,omitzero" enum:"proportion,mean" doc:"What is estimated; proportion by default."`
	Population     *float64              `json:"population,omitzero" doc:"How many households there are to choose from; that of the frame once there is one." example:"5000"`
	Confidence     *float64              `json:"confidence" doc:"Confidence level as a fraction, above 0.5 and below 1." example:"0.95"`
	Precision      *float64              `json:"precision,omitzero" doc:"Precision relative to the value, above 0 and below 1. Give this or marginOfError." example:"0.05"`
	MarginOfError  *float64              `json:"marginOfError,omitzero" doc:"Absolute margin, above 0; of a proportion below 1."`
	Tail           string                `json:"tail,omitzero" enum:"two,one" doc:"two: the interval has two bounds; one: only one is of interest. two by default."`
	ExpectedMean   *float64              `json:"expectedMean,omitzero" doc:"The proportion (0.5 by default) or mean that is expected." example:"0.8"`
	ExpectedSD     *float64              `json:"expectedSD,omitzero" doc:"The standard deviation that is expected; needed for a mean, not used for a proportion." example:"0.2"`
	DropoutRate    *float64              `json:"dropoutRate,omitzero" doc:"Share of drawn households that are not expected to answer, from 0 to 0.9." example:"0.15"`
	ERCoverage     *float64              `json:"erCoverage,omitzero" doc:"Share of the emission reductions that the population covers, from 0 to 1."`
	DesignEffect   *float64              `json:"designEffect,omitzero" doc:"How much larger the variance is than that of a simple random sample, 0.1 to 100; 1 by default."`
	Stratification *SampleStratification `json:"stratification,omitzero"`
	Clusters       *SampleClusters       `json:"clusters,omitzero" doc:"Draw clusters such as villages first, then households in them."`
	Totals         []SurveyTotal         `json:"totals,omitzero" doc:"Known totals of the whole population; at most 20."`
	Units          string                `json:"units,omitzero" enum:"pseudonym,did" doc:"What frames and draws know households by: their names in the project's pseudonymised exports (by default), so that the published record holds no DID, or their DIDs."`
	Reserve        *float64              `json:"reserve,omitzero" doc:"Replacements that are kept for each stratum or cluster, 0 to 10,000; as many as are drawn by default, at most 1,000."`
}

// SampleStratification is how a sample is divided.
type SampleStratification struct {
	Enabled *bool           `json:"enabled,omitzero" doc:"true by default." example:"true"`
	Method  string          `json:"method,omitzero" enum:"proportional,neyman,perStratum,fixed" doc:"How sizes are allotted: in proportion to populations (by default), to populations times sd (neyman), computed for each stratum by itself (perStratum), or as sampleSize of each stratum says (fixed)." example:"proportional"`
	Floor   *float64        `json:"floor,omitzero" doc:"The least that each stratum gets, 1 to 100,000; 2 by default."`
	Strata  []SampleStratum `json:"strata" doc:"At most 200."`
}

// SampleStratum is a part of the population.
type SampleStratum struct {
	Name       string   `json:"name" example:"rural"`
	Weight     *float64 `json:"weight,omitzero" doc:"Its share of the population; or give population." example:"0.6"`
	Population *float64 `json:"population,omitzero"`
	SampleSize *float64 `json:"sampleSize,omitzero" doc:"How many are drawn: said by the maker of a fixed allocation, computed by the server in others."`
	Clusters   *float64 `json:"clusters,omitzero" doc:"How many clusters are drawn in it; made by the server."`
	Mean       *float64 `json:"mean,omitzero" doc:"Expected in it; that of the design by default."`
	SD         *float64 `json:"sd,omitzero" doc:"Expected in it; needed for neyman and, of a mean, for perStratum."`
}

// SampleClusters is how clusters are drawn.
type SampleClusters struct {
	Unit       string   `json:"unit,omitzero" doc:"What a cluster is; village by default." example:"village"`
	Selection  string   `json:"selection,omitzero" enum:"equal,size" doc:"equal: each has the same chance, the lowest ranks are drawn (by default); size: chances in proportion to households, systematic over the ranked list."`
	PerCluster *float64 `json:"perCluster,omitzero" doc:"Households drawn in each, 1 to 10,000; all of them when absent." example:"8"`
	Drawn      *float64 `json:"drawn,omitzero" doc:"How many clusters are drawn; computed from the size and perCluster when absent."`
}

// SampleDesign is a version of a sample design.
type SampleDesign struct {
	SampleDesignDraft
	Version      int                `json:"version" doc:"Counted from 1; a recalculation makes the next one, and the old ones stay."`
	Method       string             `json:"method" enum:"simple_random,stratified,cluster,multistage"`
	Parameters   SampleParameters   `json:"parameters" doc:"The target and the sizes that follow from it."`
	Observed     *SampleObserved    `json:"observed,omitzero" doc:"What the version was recalculated from."`
	Reason       string             `json:"reason,omitzero" doc:"Why there is this version."`
	Verification SampleVerification `json:"verification"`
	Created      time.Time          `json:"created"`
	CreatedBy    string             `json:"createdBy" doc:"DID of the principal who made this version."`
	Deleted      time.Time          `json:"deleted,omitzero" doc:"When the design was deleted; its draws stay."`
	Warnings     []string           `json:"warnings,omitzero"`
	Links        SampleLinks        `json:"links"`
}

// SampleParameters is a target and the sample it requires.
type SampleParameters struct {
	ParameterType  string   `json:"parameterType" enum:"proportion,mean"`
	Confidence     float64  `json:"confidence"`
	Precision      *float64 `json:"precision,omitzero" doc:"Relative."`
	MarginOfError  *float64 `json:"marginOfError,omitzero" doc:"Absolute."`
	Tail           string   `json:"tail" enum:"two,one"`
	Population     *float64 `json:"population,omitzero"`
	ExactSize      float64  `json:"exactSize" doc:"Before it is rounded up." example:"356.8"`
	CalculatedSize int      `json:"calculatedSize" doc:"Responses that are needed." example:"357"`
	AdjustedSize   int      `json:"adjustedSize" doc:"Households to draw, so that as many are left after dropout." example:"420"`
	DrawnSize      int      `json:"drawnSize" doc:"Households that are drawn: the sum over strata and clusters, whose floors can add some."`
	DropoutRate    float64  `json:"dropoutRate"`
	DesignEffect   float64  `json:"designEffect"`
	ERCoverage     *float64 `json:"erCoverage,omitzero"`
}

// SampleVerification is another person's decision about a version.
type SampleVerification struct {
	Status    string    `json:"status" enum:"pending,approved,rejected"`
	Verifier  string    `json:"verifier,omitzero" doc:"DID of whoever decided; never the maker of the version."`
	Timestamp time.Time `json:"timestamp,omitzero"`
	Note      string    `json:"note,omitzero"`
}

// SampleLinks are the addresses of what belongs to a design.
type SampleLinks struct {
	Self     string `json:"self"`
	Versions string `json:"versions"`
	Frame    string `json:"frame"`
	Draw     string `json:"draw"`
	Verify   string `json:"verify"`
}

// SampleApproval decides about a version.
type SampleApproval struct {
	Version int    `json:"version,omitzero" doc:"The newest by default."`
	Status  string `json:"status,omitzero" enum:"approved,rejected" doc:"approved by default."`
	Note    string `json:"note,omitzero"`
}

// SampleObserved is what a survey has found, from which a design is recomputed.
// At least one member is required.
type SampleObserved struct {
	Mean         *float64 `json:"mean,omitzero" doc:"Proportion or mean." example:"0.86"`
	SD           *float64 `json:"sd,omitzero"`
	DropoutRate  *float64 `json:"dropoutRate,omitzero" example:"0.21"`
	DesignEffect *float64 `json:"designEffect,omitzero"`
	Population   *float64 `json:"population,omitzero"`
	Reason       string   `json:"reason" doc:"Why." example:"Variance of the first round"`
}

// SampleFrameDraft says which households there are to choose from.
type SampleFrameDraft struct {
	CSV      string       `json:"csv,omitzero" doc:"A file with the columns household (a DID), and stratum and cluster where the design has any. At most 6 MiB; larger ones are sent to POST …/frame/file."`
	Registry *SampleQuery `json:"registry,omitzero" doc:"Or the twins that a query finds, all at one moment."`
}

// SampleQuery finds twins.
type SampleQuery struct {
	Filter   string `json:"filter,omitzero" doc:"As in GET /v1/entities." example:"eq(domainType,household)"`
	Type     string `json:"type,omitzero"`
	Protocol string `json:"protocol,omitzero" doc:"DID of their protocol."`
	Status   string `json:"status,omitzero"`
	Stratum  string `json:"stratum,omitzero" doc:"Property that says the stratum." example:"district"`
	Cluster  string `json:"cluster,omitzero" doc:"Property that says the cluster." example:"village"`
}

// SampleFrame is a frozen list of households.
type SampleFrame struct {
	FrameID    string             `json:"frameId" example:"frm_7310428377145344"`
	DesignID   string             `json:"designId"`
	State      string             `json:"state" enum:"building,frozen,failed"`
	Hash       string             `json:"hash,omitzero" doc:"SHA-256 of the published frame: the line unit,stratum,cluster and one line for each household, sorted by unit, each ended by a line feed."`
	Units      string             `json:"units" enum:"pseudonym,did"`
	Population int64              `json:"population"`
	Strata     []SampleFrameCount `json:"strata,omitzero"`
	Clusters   int                `json:"clusters,omitzero" doc:"How many there are."`
	Registry   *SampleQuery       `json:"registry,omitzero" doc:"The query it comes from; a file otherwise."`
	FileHash   string             `json:"fileHash,omitzero" doc:"SHA-256 of the file it comes from."`
	Revision   int64              `json:"revision,omitzero" doc:"Number of the newest event of the workspace when the registry was read; what came later is not in it."`
	Frozen     time.Time          `json:"frozen,omitzero"`
	By         string             `json:"by" doc:"DID of whoever made it."`
	Plan       *SamplePlan        `json:"plan,omitzero" doc:"What a draw takes of it by the newest version of the design."`
	Warnings   []string           `json:"warnings,omitzero"`
}

// SampleFrameCount counts the households of a frame in a stratum.
type SampleFrameCount struct {
	Name       string `json:"name"`
	Population int64  `json:"population"`
	Clusters   int    `json:"clusters,omitzero"`
	// Largest tells whether clusters can be drawn by their size.
	Largest *SampleFrameCluster `json:"largest,omitzero" doc:"The largest cluster, where the design draws clusters."`
}

// SampleFrameCluster counts the households of a frame in a cluster.
type SampleFrameCluster struct {
	Name       string `json:"name"`
	Population int64  `json:"population"`
}

// SamplePlan says how many to draw from a frame. With the frame and the seed it
// determines which households are drawn.
type SamplePlan struct {
	Strata   []SamplePlanStratum `json:"strata" doc:"One without a name where the sample has no strata."`
	Clusters *SamplePlanClusters `json:"clusters,omitzero"`
	Reserve  int                 `json:"reserve" doc:"Replacements that follow in each stratum or cluster."`
}

// SamplePlanStratum says how many to draw in a stratum.
type SamplePlanStratum struct {
	Name       string `json:"name"`
	Population int    `json:"population"`
	Size       int    `json:"size" doc:"Households; with clusters about as many."`
	Clusters   int    `json:"clusters,omitzero"`
}

// SamplePlanClusters says how to draw clusters.
type SamplePlanClusters struct {
	Unit       string `json:"unit"`
	Selection  string `json:"selection" enum:"equal,size"`
	PerCluster int    `json:"perCluster,omitzero" doc:"All households when absent."`
}

// SampleCommit binds a draw to a frame, a plan and a hidden part of the seed.
type SampleCommit struct {
	FrameID    string       `json:"frameId,omitzero" doc:"The newest frame by default."`
	Commitment string       `json:"commitment,omitzero" doc:"SHA-256 of your part of the seed, 64 hex digits; keep the part, of 32 characters or more, until the draw. When absent the server makes a part and shows it to nobody before the draw."`
	Second     SampleSecond `json:"second" doc:"Where the second part will come from."`
	Reason     string       `json:"reason,omitzero" doc:"Needed where the frame, the design or its survey has been drawn or committed before."`
}

// SampleSecond is the source of the second part of a seed.
type SampleSecond struct {
	Source string    `json:"source" enum:"party,beacon" doc:"party: another principal with the scope sampling:witness; beacon: a public value that does not exist yet."`
	Party  string    `json:"party,omitzero" doc:"DID of the one who must give it; anybody else than you when absent."`
	Beacon string    `json:"beacon,omitzero" doc:"Which beacon: drand/quicknet, drand/default, nist/2.0, or the name of another one, so that anybody finds it." example:"drand/quicknet"`
	Round  int64     `json:"round,omitzero" doc:"Of drand: the round, which says when its value is published." example:"14000000"`
	At     time.Time `json:"at,omitzero" doc:"When the value is published: it must be in the future. drand's follows from the round; NIST's is a full minute."`
	Format string    `json:"format,omitzero" enum:"hex64,hex128,numbers" doc:"How the value is written: 64 or 128 hex digits in lower case, or numbers with one space between, such as those of a lottery. Known for drand and NIST."`
}

// SampleContribution is the second part of a seed.
type SampleContribution struct {
	Part string `json:"part" doc:"Your part, at most 200 characters, or the published value in the format of the commitment." example:"b7c1…"`
}

// SampleDrawDraft asks for a draw.
type SampleDrawDraft struct {
	Part    string `json:"part,omitzero" doc:"The part you have committed to; not where the server made it."`
	Seed    string `json:"seed,omitzero" doc:"Without a commitment: the whole seed, at most 200 characters. The draw is marked soleSeed." example:"20240220"`
	FrameID string `json:"frameId,omitzero" doc:"With seed: the frame; the newest by default."`
	Reason  string `json:"reason,omitzero" doc:"With seed, needed where the frame, the design or its survey has been drawn or committed before."`
}

// SampleDraw is a draw, or a commitment to one.
type SampleDraw struct {
	DrawID      string          `json:"drawId" example:"drw_7310428377145344"`
	DesignID    string          `json:"designId"`
	Version     int             `json:"version" doc:"Of the design."`
	ProjectID   string          `json:"projectId"`
	SurveyID    string          `json:"surveyId,omitzero"`
	FrameID     string          `json:"frameId"`
	FrameHash   string          `json:"frameHash"`
	Population  int64           `json:"population"`
	Units       string          `json:"units" enum:"pseudonym,did"`
	Plan        SamplePlan      `json:"plan"`
	State       string          `json:"state" enum:"committed,contributed,drawing,drawn" doc:"A draw that was committed to and never made stays in this list."`
	Commitment  string          `json:"commitment,omitzero"`
	CommittedAt time.Time       `json:"committedAt,omitzero" doc:"By the clock of the server, as in the audit log (sampling.committed)."`
	CommittedBy string          `json:"committedBy,omitzero"`
	Second      *SampleSecond   `json:"second,omitzero"`
	FirstPart   string          `json:"firstPart,omitzero" doc:"Once it is drawn."`
	SecondPart  string          `json:"secondPart,omitzero" doc:"Once it is drawn."`
	SecondBy    string          `json:"secondBy,omitzero"`
	SecondAt    time.Time       `json:"secondAt,omitzero"`
	Seed        string          `json:"seed,omitzero" doc:"SHA-256(firstPart 0x1F secondPart) as 64 hex digits, or the sole seed."`
	SoleSeed    bool            `json:"soleSeed,omitzero" doc:"One party alone has named the seed, so nothing shows that it was not chosen for its sample."`
	DrawnAt     time.Time       `json:"drawnAt,omitzero"`
	DrawnBy     string          `json:"drawnBy,omitzero"`
	Drawn       int             `json:"drawn" doc:"Households drawn."`
	Reserve     int             `json:"reserve" doc:"Replacements that follow."`
	Replaced    int             `json:"replaced" doc:"Replacements that were used."`
	Reason      string          `json:"reason,omitzero" doc:"Why the frame or the survey was drawn again."`
	Stages      []SamplingStage `json:"stages,omitzero"`
	Earlier     []SampleDrawRef `json:"earlier,omitzero" doc:"Draws before this one, also of deleted designs, newest first: the last 100 of the same frame and the last 100 of the project. Left out in lists; GET /v1/sampling/draws?frameHash= has all of a frame."`
	DesignGone  bool            `json:"designDeleted,omitzero"`

	EarlierOfFrame   int64         `json:"earlierOfFrame" doc:"How many draws of the same frame came before, in all."`
	EarlierOfProject int64         `json:"earlierOfProject" doc:"How many draws of the project came before, in all."`
	Entries          []SampleEntry `json:"entries,omitzero" doc:"What the audit log says of the commitment and of the draw."`
}

// SampleDrawRef refers to an earlier draw.
type SampleDrawRef struct {
	DrawID     string    `json:"drawId"`
	DesignID   string    `json:"designId"`
	FrameHash  string    `json:"frameHash"`
	SameFrame  bool      `json:"sameFrame,omitzero"`
	SameDesign bool      `json:"sameDesign,omitzero" doc:"Of the same design or survey."`
	State      string    `json:"state"`
	SoleSeed   bool      `json:"soleSeed,omitzero"`
	At         time.Time `json:"at"`
	Reason     string    `json:"reason,omitzero"`
}

// SampleEntry is an entry of the audit log in the record of a draw. Its hash is
// over the entry as GET /v1/audit returns it.
type SampleEntry struct {
	Seq      int64     `json:"seq,omitzero" doc:"Number of the entry in the audit log of the workspace; left out where the log does not keep it any more."`
	Type     string    `json:"type" enum:"sampling.committed,sampling.drawn,sampling.replaced"`
	Subject  string    `json:"subject" doc:"The design."`
	Revision int64     `json:"revision" doc:"Version of the design."`
	Actor    string    `json:"actor"`
	Time     time.Time `json:"time"`
	Data     string    `json:"data" doc:"The data of the entry as JSON. members has the SHA-256 of each member of the record that was fixed then; replacements of the last replacement is a sum of all."`
	Hash     string    `json:"hash" doc:"SHA-256 of type, subject, revision, actor, time (as 2026-03-01T08:00:00.000Z) and data with 0x1F between."`
}

// SampleUnit is a household of a draw.
type SampleUnit struct {
	Place       int       `json:"place,omitzero" doc:"In the draw, counted from 1; replacements of a stratum or cluster follow its sample."`
	Unit        string    `json:"unit,omitzero"`
	HouseholdID string    `json:"householdId,omitzero" doc:"For keys with responses:pii. To whoever replaces a household by its DID without this scope the next one is named by its DID too, and by no unit."`
	Stratum     string    `json:"stratum,omitzero"`
	Cluster     string    `json:"cluster,omitzero"`
	Rank        string    `json:"rank,omitzero" doc:"SHA-256(seed 0x1F unit)."`
	State       string    `json:"state" enum:"drawn,replaced,replacement,reserve" doc:"drawn; drawn and replaced; a replacement that was used; one that was not."`
	Replaces    string    `json:"replaces,omitzero" doc:"Unit it stands in for."`
	ReplacedBy  string    `json:"replacedBy,omitzero" doc:"Unit that stands in for it."`
	Reason      string    `json:"reason,omitzero" doc:"Why it was replaced, or came in."`
	At          time.Time `json:"at,omitzero" doc:"When it was replaced, or came in."`
	By          string    `json:"by,omitzero"`
}

// SurveyReplacement is the household that replaces a drawn one on the list of a
// survey.
type SurveyReplacement struct {
	HouseholdID string    `json:"householdId"`
	Reason      string    `json:"reason,omitzero" doc:"For those who see all of the household."`
	By          string    `json:"by,omitzero" doc:"DID of whoever has replaced it, for those who see all of the household."`
	At          time.Time `json:"at"`
}

// SampleReplacement asks for the next household to replace a drawn one.
type SampleReplacement struct {
	HouseholdID string `json:"householdId,omitzero" doc:"DID of the household that is not reached."`
	Unit        string `json:"unit,omitzero" doc:"Or its name in the draw."`
	Reason      string `json:"reason" example:"Moved away; neighbours confirm"`
}

// SampleRecord is a draw as it is published: everything needed to repeat it,
// with the frame as text and the households drawn.
type SampleRecord struct {
	Format string       `json:"format" doc:"hearth-sample-2; hearth-sample-1 of draws made before entries of the audit log were part of it; hearth-sample-2-masked in bundles for auditors, without people and entries."`
	Design SampleDesign `json:"design" doc:"The version that was drawn."`
	Draw   SampleDraw   `json:"draw"`
	Units  []SampleUnit `json:"units" doc:"The sample and the replacements that were used; never those that were not."`
	Frame  string       `json:"frame" doc:"The published frame."`
}

// SampleCheck is the result of repeating a draw.
type SampleCheck struct {
	DrawID   string       `json:"drawId"`
	Verified bool         `json:"verified"`
	Checks   []SampleTest `json:"checks"`
	SoleSeed bool         `json:"soleSeed,omitzero"`
	Remarks  []string     `json:"remarks,omitzero"`
}

// SampleTest is one thing that was checked.
type SampleTest struct {
	Name   string `json:"name" enum:"frame,plan,commitment,second,seed,sample,replacements,record"`
	OK     bool   `json:"ok"`
	Detail string `json:"detail,omitzero"`
}
