package ussd

import "time"

// SetDeadline changes how long an answer may take.
func (s *Service) SetDeadline(d time.Duration) { s.deadline = d }

// SetTrip has f decide whether a transaction that has done its work fails.
func (s *Service) SetTrip(f func() error) { s.trip = f }

// Waiting is how many wait for a request that is at work.
func (s *Service) Waiting(session, phone, text string) int {
	t := ticket{newKey(session, phone, "", "*2233#").id, text}
	p := s.flights.part(&t)
	p.mu.Lock()
	defer p.mu.Unlock()
	if f := p.at[t]; f != nil {
		return f.waiting
	}
	return 0
}

// SetTimes changes how long a gateway waits, and how long a step may ask others.
func (s *Service) SetTimes(deadline, outside time.Duration) {
	s.deadline, s.outside = deadline, outside
}
