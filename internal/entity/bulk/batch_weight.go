package bulk

import (
	"context"
	"fmt"

	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// MaxAtomic is how many bytes of records an atomic batch may write: others wait
// for the one transaction it is, which may take a second. A record that is
// changed counts changeWeight times: in the transaction it is read, checked,
// written, and kept as it was. As whole requests on two busy cores, twelve
// changes of 250 KiB took 0.1 to 0.4 s, a thousand new records of 8 KiB 0.2 to
// 0.7 s; twice as many changes took more than a second.
const (
	MaxAtomic    = 12 << 20
	changeWeight = 4
)

// tooHeavy is the fault of an atomic batch that would hold the store too long.
func tooHeavy() *fault.Error {
	return fault.New(fault.Unprocessable, "BATCH_TOO_HEAVY", fmt.Sprintf("All records that an atomic batch writes may have at most %d bytes together; a changed record counts %d times. Split the batch.", MaxAtomic, changeWeight)).
		With(fault.Field{Pointer: "/operations", Code: "too_heavy", Detail: "Send fewer operations at once, or without atomic."})
}

// weigh refuses an atomic batch that writes too much.
func (s *batches) weigh(ctx context.Context, all []work) error {
	sizes, total := map[string]int{}, 0
	for i := range all {
		o := all[i].op
		if made := all[i].made; made != nil {
			size := len(made.Body())
			sizes[made.DID()] = size
			total += size
		} else {
			grown := len(o.Patch.Value)
			if o.Entity != nil {
				text, err := web.Encode(o.Entity)
				if err != nil {
					return err
				}
				grown = len(text)
			}
			ends := []string{o.DID}
			if o.Relationship != nil {
				ends = append(ends, o.Relationship.Target)
			}
			for _, id := range ends {
				size, err := s.sizeOf(ctx, sizes, id)
				if err != nil {
					return err
				}
				total += changeWeight * size
			}
			sizes[o.DID] += grown
			total += grown
		}
		if total > MaxAtomic {
			return tooHeavy()
		}
	}
	return nil
}

// sizeOf is the size of a record. One that is not there has none; the operation
// will say so.
func (s *batches) sizeOf(ctx context.Context, sizes map[string]int, id string) (int, error) {
	if size, ok := sizes[id]; ok {
		return size, nil
	}
	r, err := s.entities.Find(ctx, s.db, id)
	switch {
	case err == nil:
		sizes[id] = len(r.Body)
	case fault.KindOf(err) == fault.NotFound || fault.KindOf(err) == fault.Invalid:
		sizes[id] = 0
	default:
		return 0, err
	}
	return sizes[id], nil
}
