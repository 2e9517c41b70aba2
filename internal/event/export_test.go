package event

// Leading reports whether Lead runs.
func (l *Log) Leading() bool { return l.lead.running.Load() }

// SelectSubjectBefore reads what happened to a subject, SelectActorBefore what a principal
// did.
const (
	SelectSubjectBefore = selectSubjectBefore
	SelectActorBefore   = selectActorBefore
)
