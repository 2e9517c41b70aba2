package survey

import (
	"cmp"
	"context"
	"slices"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/order"
)

// Delta is what a change adds to the counters of a campaign; negative numbers
// subtract. Stratum and Group are those of the listed household, "" when it is
// not listed.
type Delta struct {
	Round          int // from 1
	Stratum, Group string

	Completed, Partial              int // responses
	Verified, Rejected, Flagged     int // of them
	Contacted, Refused, Unreachable int // households, by their outcome; responses that refuse consent, too
	Ineligible                      int // households, by their outcome, and responses

	// Household, if it is listed, gets the outcome of its Standing in the same
	// call.
	Household *Household
	Standing  Standing

	// Lengths are those of interviews that start or cease to count.
	Lengths []Length

	listed int
}

func (d *Delta) zero() bool { return d.Completed == 0 && d.only() }

// only reports whether nothing but complete responses is counted.
func (d *Delta) only() bool {
	return d.Partial == 0 && d.Verified == 0 && d.Rejected == 0 && d.Flagged == 0 &&
		d.Contacted == 0 && d.Refused == 0 && d.Unreachable == 0 && d.Ineligible == 0 && d.listed == 0
}

// add takes in what another counts in the same place.
func (d *Delta) add(o Delta) {
	d.Completed, d.Partial, d.Verified = d.Completed+o.Completed, d.Partial+o.Partial, d.Verified+o.Verified
	d.Rejected, d.Flagged, d.listed = d.Rejected+o.Rejected, d.Flagged+o.Flagged, d.listed+o.listed
	d.Contacted, d.Refused, d.Unreachable = d.Contacted+o.Contacted, d.Refused+o.Refused, d.Unreachable+o.Unreachable
	d.Ineligible += o.Ineligible
}

func comparePlaces(a, b Delta) int {
	return cmp.Or(cmp.Compare(a.Round, b.Round), cmp.Compare(a.Stratum, b.Stratum), cmp.Compare(groupCode(a.Group), groupCode(b.Group)))
}

// Count adds to the counters of a campaign in the transaction of what is counted. It is
// one statement for each place (round, stratum and group), one more for a Household, and
// two for a length. Call it once in a transaction, and last: on PostgreSQL the rows stay
// locked until its end, and one call takes them in a fixed order.
func (c *counters) Count(ctx context.Context, tx *db.Tx, o *Open, deltas ...Delta) error {
	if len(deltas) == 1 { // a response: nothing to gather
		d := &deltas[0]
		more, err := c.follow(ctx, tx, o, d)
		if err != nil {
			return err
		}
		if !more.zero() && comparePlaces(*d, more) != 0 {
			err = c.countAll(ctx, tx, o.NID, []Delta{*d, more})
		} else {
			d.add(more)
			err = c.count(ctx, tx, o.NID, d)
		}
		if err != nil {
			return err
		}
		return c.measure(ctx, tx, o.NID, deltas)
	}
	all := slices.Clone(deltas)
	order.Stable(all, func(a, b Delta) int { return compareHomes(a.Household, b.Household) })
	for i := range deltas {
		more, err := c.follow(ctx, tx, o, &all[i])
		if err != nil {
			return err
		}
		if !more.zero() {
			all = append(all, more)
		}
	}
	if err := c.countAll(ctx, tx, o.NID, all); err != nil {
		return err
	}
	return c.measure(ctx, tx, o.NID, deltas)
}

func compareHomes(a, b *Household) int {
	id := func(h *Household) string {
		if h == nil {
			return ""
		}
		return h.HouseholdID
	}
	return cmp.Compare(id(a), id(b))
}

// countAll adds many deltas, each place once and in one order.
func (c *counters) countAll(ctx context.Context, tx *db.Tx, survey int64, all []Delta) error {
	order.Stable(all, comparePlaces)
	for i := 0; i < len(all); {
		sum := all[i]
		for i++; i < len(all) && comparePlaces(sum, all[i]) == 0; i++ {
			sum.add(all[i])
		}
		if err := c.count(ctx, tx, survey, &sum); err != nil {
			return err
		}
	}
	return nil
}
