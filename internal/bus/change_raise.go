package bus

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/hearth-dmrv/hearth/internal/cache"
	"github.com/hearth-dmrv/hearth/internal/db"
)

// raise raises the versions of what a transaction has changed, in its last
// statements: other changes of these topics wait for its commit.
func (s *Changes) raise(ctx context.Context, tx *db.Tx, changes []db.Change) error {
	where := map[string]string{}
	for _, c := range changes {
		if ws, ok := where[c.Topic]; ok && ws != c.Workspace {
			where[c.Topic] = ""
		} else {
			where[c.Topic] = c.Workspace
		}
	}
	raised, err := raiseVersions(ctx, tx, slices.Sorted(maps.Keys(where)))
	if err != nil {
		return err
	}
	to, with := s.cfg.Bus.(*Postgres)
	for i := range raised {
		raised[i].ws = where[raised[i].topic]
		if with {
			if err := notifyRaised(ctx, tx, to, raised[i]); err != nil {
				return err
			}
		}
	}
	life := context.WithoutCancel(ctx)
	tx.AfterCommit(func() {
		for _, v := range raised {
			s.hear(v)
			if !with {
				s.publish(life, topicRaised+v.topic, v.String())
			}
		}
		s.settle(life, raised)
	})
	return nil
}

// settle waits until every live process has confirmed versions, for at most the
// time of a lease: by then a silent one has stopped using its caches.
func (s *Changes) settle(ctx context.Context, raised []version) {
	ctx, cancel := context.WithTimeout(ctx, cache.LeaseTime)
	defer cancel()
	look := time.NewTicker(confirmEvery)
	defer look.Stop()
	var behind []string
	known := false // behind was read
	for rows := true; ; {
		s.mu.Lock()
		news := s.news
		s.mu.Unlock()
		if rows {
			if list, err := s.behind(ctx, raised); err == nil {
				behind, known = list, true
			}
		}
		behind = s.unconfirmed(behind, raised)
		if known && len(behind) == 0 {
			return
		}
		select {
		case <-news:
			rows = !known
		case <-look.C:
			rows = true
		case <-ctx.Done():
			s.cfg.Log.WarnContext(ctx, "change not confirmed in time", "topic", raised[0].topic, "instances", behind)
			return
		}
	}
}

// behind names the live processes whose rows do not confirm versions.
func (s *Changes) behind(ctx context.Context, raised []version) ([]string, error) {
	live, err := s.cfg.Live(ctx)
	if err != nil {
		return nil, err
	}
	live = slices.DeleteFunc(slices.Clone(live), func(id string) bool { return id == s.cfg.Self() })
	s.mu.Lock()
	maps.DeleteFunc(s.confirmed, func(id string, _ map[string]int64) bool { return !slices.Contains(live, id) })
	s.mu.Unlock()
	if len(live) == 0 {
		return nil, nil
	}
	stored, err := readConfirmed(ctx, s.cfg.DB)
	return slices.DeleteFunc(live, func(id string) bool { return reached(stored[id], raised) }), err
}

// unconfirmed returns the processes in behind that have not confirmed by the bus either.
func (s *Changes) unconfirmed(behind []string, raised []version) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.DeleteFunc(behind, func(id string) bool { return reached(s.confirmed[id], raised) })
}

// reached reports whether versions are at least those that were raised.
func reached(have map[string]int64, raised []version) bool {
	return !slices.ContainsFunc(raised, func(v version) bool { return have[v.topic] < v.n })
}
