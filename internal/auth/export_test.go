package auth

// Announce tells of a change that was made behind the service's back.
func Announce(s *Service) { announce(s) }
