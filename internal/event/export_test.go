package event

// Leading reports whether Lead runs.
func (l *Log) Leading() bool { return l.lead.running.Load() }
