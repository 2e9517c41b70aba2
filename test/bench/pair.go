package main

import (
	"context"
	"errors"
	"time"
)

// slice is how long one side runs before the other has its turn. It is short,
// so that a neighbour on the machine disturbs both sides alike.
const slice = 150 * time.Millisecond

// turn is slice, or a whole cell where that is shorter.
func (b *bench) turn() time.Duration { return min(slice, b.cell) }

// side is one of the two things compared, open on its own database.
type side interface {
	// run works until d is over and returns what it measured.
	run(ctx context.Context, d time.Duration) (sample, error)
	close() error
}

// opener opens a new side.
type opener func(ctx context.Context) (side, error)

// pair measures ours against the bound: each round opens both afresh and lets
// them take turns; the side that goes first changes with every turn.
func (b *bench) pair(ctx context.Context, ours, bound opener) (pairs, error) {
	var p pairs
	for range b.rounds {
		o, c, err := b.round(ctx, ours, bound)
		if err != nil {
			return p, err
		}
		p.ours, p.bound = append(p.ours, o), append(p.bound, c)
	}
	return p, nil
}

func (b *bench) round(ctx context.Context, ours, bound opener) (o, c sample, err error) {
	first, err := ours(ctx)
	if err != nil {
		return o, c, err
	}
	defer func() { err = errors.Join(err, first.close()) }()
	second, err := bound(ctx)
	if err != nil {
		return o, c, err
	}
	defer func() { err = errors.Join(err, second.close()) }()
	// The second may have taken long to get ready, and servers close connections
	// on which nothing comes.
	if l, ok := first.(interface{ redial() error }); ok {
		if err := l.redial(); err != nil {
			return o, c, err
		}
	}
	// One short turn each that does not count: caches, statements, files.
	if err := turns(ctx, b.turn()/3, []side{first, second}, []*sample{{}, {}}); err != nil {
		return o, c, err
	}
	for i := range max(int(b.cell/slice), 1) {
		sides, sums := []side{first, second}, []*sample{&o, &c}
		if i%2 == 1 {
			sides, sums = []side{second, first}, []*sample{&c, &o}
		}
		if err := turns(ctx, b.turn(), sides, sums); err != nil {
			return o, c, err
		}
	}
	return o, c, nil
}

// turns lets each side run once and adds the measurements up.
func turns(ctx context.Context, d time.Duration, sides []side, sums []*sample) error {
	for i, s := range sides {
		got, err := s.run(ctx, d)
		if err != nil {
			return err
		}
		*sums[i] = sums[i].add(got)
	}
	return ctx.Err()
}
