package weather

import "time"

// SetClock stops the clock of the plugin at a time. It must be called before Start.
func (p *Plugin) SetClock(at time.Time) { p.now = func() time.Time { return at } }
