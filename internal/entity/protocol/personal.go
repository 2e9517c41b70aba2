package protocol

import "context"

// Personal lists the properties of a protocol that are personal data: those
// that any version of it, once published, marks as such. A mark that came late
// so covers the twins of earlier versions and their history too, and one that
// was taken back does not show what was told under it. Sorted; do not change
// it. The fault is PROTOCOL_NOT_FOUND.
func (s *Service) Personal(ctx context.Context, ws, id string) ([]string, error) {
	if p := s.shipped.find(id, ""); p != nil {
		return p.pii, nil
	}
	k := answerKey{ws, "personal", id}
	if a, ok := s.cache.answer(k); ok {
		return a.names, nil
	}
	gen := s.cache.begin(ws)
	all, err := steps(ctx, s.db, ws, id)
	if err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return nil, notFound()
	}
	var names []string
	for _, v := range all {
		if v.status == StatusDraft {
			continue // no twin is made from it
		}
		p, err := s.FindAny(ctx, ws, id, v.version)
		if err != nil {
			return nil, err
		}
		names = append(names, p.pii...)
	}
	names = unique(names)
	s.cache.putAnswer(k, answer{names: names}, gen)
	return names, nil
}
