package erase

import (
	"context"
	"slices"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/entity"
	"github.com/hearth-dmrv/hearth/internal/entity/relationship"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Companion is a twin that was made for a person, such as the household of a
// registration over USSD. It is erased with the person, or loses their data
// when others are linked to it.
type Companion struct {
	DID        string
	Shared     bool              // another part knows of another person in it
	Properties map[string]string // the person's, by name: those that still have the value are removed
	External   map[string]string // the person's, by scheme
}

// companions erases what was made for a subject, before the part that knows of
// it forgets the subject, and lists what was erased. stripped counts those that
// stayed for others, without the subject's data.
func (s *Service) companions(ctx context.Context, ws string, d Draft) (gone []string, stripped int64, err error) {
	if s.cfg.Companions == nil {
		return nil, 0, nil
	}
	all, err := s.cfg.Companions(ctx, ws, d.Subject)
	if err != nil {
		return nil, 0, err
	}
	c := web.CallerFrom(ctx)
	c.Projects = nil // the right to erase the person covers what was made for them
	ctx = web.WithCaller(ctx, c)
	for _, one := range all {
		went, err := s.companion(ctx, one, d)
		if err != nil {
			return nil, 0, err
		}
		if went {
			gone = append(gone, one.DID)
		} else {
			stripped++
		}
	}
	return gone, stripped, nil
}

func (s *Service) companion(ctx context.Context, c Companion, d Draft) (gone bool, err error) {
	r, err := s.cfg.Entities.Find(ctx, s.db, c.DID)
	missing := fault.CodeOf(err) == "ENTITY_NOT_FOUND"
	if err != nil && !missing {
		return false, err
	}
	shared := c.Shared
	if !shared && !missing {
		if shared, err = s.hasOthers(ctx, r, d.Subject); err != nil {
			return false, err
		}
	}
	if !shared {
		switch _, _, err := s.erase(ctx, Draft{Subject: c.DID, Reason: d.Reason}); {
		case err == nil:
			return true, nil
		case missing && fault.CodeOf(err) == "ENTITY_NOT_FOUND":
			return true, nil // no part knows it
		case fault.KindOf(err) != fault.Conflict && fault.KindOf(err) != fault.Forbidden: // an active twin cannot do without it, or it has keys
			return false, err
		}
	}
	if missing {
		return false, nil
	}
	return false, s.strip(ctx, r, c)
}

// hasOthers reports whether a person or a household other than subject is
// linked to a twin and still there.
func (s *Service) hasOthers(ctx context.Context, r *entity.Row, subject string) (bool, error) {
	for _, side := range []relationship.Side{relationship.Out, relationship.In} {
		for after := int64(0); ; {
			list, err := side.List(ctx, s.db, r.NID, after, edgePage)
			if err != nil {
				return false, err
			}
			for i := range list {
				after = list[i].NID
				far := list[i].Dst
				if far == r.NID {
					far = list[i].Src
				}
				if far == 0 {
					continue // held elsewhere: nobody here can say
				}
				other, err := relationship.EndByNID(ctx, s.db, r.Workspace, far)
				if err != nil {
					return false, err
				}
				if other != nil && other.DID != subject && people(other.DomainType) && entity.Status(other.Status) != entity.StatusDeactivated {
					return true, nil
				}
			}
			if len(list) < edgePage {
				break
			}
		}
	}
	return false, nil
}

// strip removes a person's data from a companion. Its earlier revisions and the
// data of its events are removed whole, because they had it too.
func (s *Service) strip(ctx context.Context, r *entity.Row, c Companion) error {
	err := s.db.InTx(ctx, func(tx *db.Tx) error {
		r, err := s.cfg.Entities.FindForUpdate(ctx, tx, c.DID)
		if err != nil {
			return err
		}
		_, err = s.cfg.Entities.Mutate(ctx, tx, r, entity.Action{Name: "erase", Event: "entity.erased"}, func(e *entity.Entity) error {
			for scheme, value := range c.External {
				if e.ExternalIDs[scheme] == value {
					delete(e.ExternalIDs, scheme)
				}
			}
			var err error
			e.Properties, err = without(e.Properties, c.Properties)
			return err
		})
		return err
	})
	if err != nil {
		return err
	}
	if _, err := s.blankPast(ctx, r.NID); err != nil {
		return err
	}
	_, err = s.cfg.Events.Forget(ctx, r.Workspace, r.DID)
	return err
}

// without removes members that have a value.
func without(o entity.Object, values map[string]string) (entity.Object, error) {
	if bare(o) {
		return o, nil
	}
	var members map[string]jsontext.Value
	if err := json.Unmarshal(o.Value, &members); err != nil {
		return o, err
	}
	for name, value := range values {
		var have string
		if json.Unmarshal(members[name], &have) == nil && have == value {
			delete(members, name)
		}
	}
	text, err := json.Marshal(members, json.Deterministic(true))
	return entity.Object{Value: slices.Clip(text)}, err
}
