package entity

import "context"

// PrepareWithGroups is Prepare for an organisation that names groups which are
// there already by its relationships: none is made for it. Whoever stores it
// sees to it that one of them is active. Faults: those of Prepare.
func (cr *creator) PrepareWithGroups(ctx context.Context, d Draft) (*Prepared, error) {
	p, err := cr.Prepare(ctx, d)
	if err != nil {
		return nil, err
	}
	p.groups, p.links, p.entity.Relationships = nil, nil, nil
	return p, cr.seal(ctx, p)
}
