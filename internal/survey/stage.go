package survey

// Stages of a programme.
const (
	StageBaseline   = "baseline"
	StageFollowUp   = "follow-up"
	StageMonitoring = "monitoring"
)

// typeNames are what a type may be called, and its stage. The first name of a
// stage is the one in records.
var typeNames = []struct{ name, stage string }{
	{"BaselineSurvey", StageBaseline},
	{"FollowUpSurvey", StageFollowUp},
	{"MonitoringSurvey", StageMonitoring},
	{"FollowupSurvey", StageFollowUp},
	{"Follow-upSurvey", StageFollowUp},
}

// StageOf is the stage of a type, "" for an unknown one.
func StageOf(typ string) string {
	for _, t := range typeNames {
		if t.name == typ {
			return t.stage
		}
	}
	return ""
}

// TypeOf is the type of a stage as records show it.
func TypeOf(stage string) string {
	for _, t := range typeNames {
		if t.stage == stage {
			return t.name
		}
	}
	return ""
}
