package response

import (
	"context"
	"errors"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/survey/form"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// Redact removes everything that anybody said from a response: what remains is
// that there was one, of whom and when. It cannot be undone. Faults:
// RESPONSE_NOT_FOUND, RESPONSE_LOCKED, NOT_COLLECTOR, INVALID_PARAMETER, and
// those of web.CheckMatch.
func (s *Service) Redact(ctx context.Context, id, ifMatch, reason string) (web.Reply[*Record], error) {
	var out web.Reply[*Record]
	if err := checkReason(reason, true); err != nil {
		return out, err
	}
	_, o, err := s.Find(ctx, s.db, id)
	if err != nil {
		return out, err
	}
	err = s.db.InTx(ctx, func(tx *db.Tx) error {
		old, err := s.FindForUpdate(ctx, tx, o, id)
		if err != nil {
			return err
		}
		if err := mayRedact(ctx, old, ifMatch); err != nil {
			return err
		}
		next, err := s.redacted(ctx, o.Form, old, reason)
		if err != nil {
			return err
		}
		if err := s.replace(ctx, tx, o, old, next); err != nil {
			return err
		}
		if err := wipe(ctx, tx, next); err != nil {
			return err
		}
		if err := s.cfg.Wiped(ctx, tx, o.Workspace, next.ResponseID); err != nil {
			return err
		}
		out, err = s.answer(ctx, tx, o, next)
		return err
	})
	if err != nil {
		return out, err
	}
	ctx = context.WithoutCancel(ctx)             // half a redaction helps nobody
	_, err = s.cfg.Media.Sweep(ctx, o.Workspace) // files that are being sent are removed later
	return out, errors.Join(err, s.cfg.Redacted(ctx, o))
}

// mayRedact reports whether the caller may take out a response.
func mayRedact(ctx context.Context, r *Row, ifMatch string) error {
	caller := web.CallerFrom(ctx)
	if err := MayChange(ctx, r); err != nil {
		return err
	}
	if r.Status == Redacted || r.VStatus == Verified && !caller.May("surveys:write") {
		return locked(r)
	}
	return web.CheckMatch(ifMatch, r.Revision)
}

// redacted is the last revision of a response.
func (s *Service) redacted(ctx context.Context, f *form.Form, old *Row, reason string) (*Row, error) {
	h, err := old.Head()
	if err != nil {
		return nil, err
	}
	h.DeviceID, h.Attachments, h.Metadata, h.Consent, h.Eligible, h.Missing, h.Dropped = "", nil, form.Object{}, nil, nil, nil, nil
	h.Status, h.Completeness, h.Language = Redacted, 0, ""
	if _, err := h.identify(f, []byte("{}"), nil); err != nil {
		return nil, err
	}
	next := *old
	if next.Body, err = web.Encode(h); err != nil {
		return nil, err
	}
	next.Status, next.Answers, next.Masked, next.Sealed, next.Flags, next.Files, next.Slot = Redacted, []byte("{}"), nil, nil, 0, 0, old.NID
	s.sign(ctx, &next, "redacted", reason)
	return &next, nil
}
