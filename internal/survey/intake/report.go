package intake

import (
	"context"
	"slices"

	"github.com/hearth-dmrv/hearth/api"
	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/exchange"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/survey/media"
	"github.com/hearth-dmrv/hearth/internal/survey/response"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// What became of a row.
const (
	created   = "created"
	partial   = "partial"
	unchanged = "unchanged"
	refused   = "refused"
)

// Row is the result of one row of an import.
type Row = api.ResponseImportRow

// warn records what remains to do for a response that was stored.
func (w *worker) warn(ctx context.Context, tx *db.Tx, one *work, done response.Stored) (err error) {
	if one.missing = nil; one.ready.HasFiles() {
		if one.missing, err = media.Missing(ctx, tx, done.Row.NID, true); err != nil {
			return err
		}
	}
	return nil
}

// withheld returns a fault without what others have stored: the importer may
// have read it, but the readers of the report may be others.
func withheld(f *fault.Error) *fault.Error {
	switch f.Code {
	case response.DuplicateCode:
		return fault.As(response.Duplicate(nil))
	case response.ConflictCode:
		kept := *f
		kept.Fields = slices.Clone(f.Fields)
		for i := range kept.Fields {
			if kept.Fields[i].Code == response.DiffersCode {
				kept.Fields[i].Detail = "The stored response has a different value here. Reports do not show it."
			}
		}
		return &kept
	}
	return f
}

// shown returns a row for a caller who may not know whom a response is about: a
// client may have put a person's name into its id, a hash reveals to the owner of
// a picture whose answer it is, and a sentence may repeat what a cell says.
func shown(r Row) Row {
	r.ResponseID, r.MissingAttachments = "", nil
	if r.Error != nil {
		bare := *r.Error
		bare.Errors = slices.Clone(bare.Errors)
		for i := range bare.Errors {
			bare.Errors[i].Detail = ""
		}
		r.Error = &bare
	}
	return r
}

// report is the stored form of a row's result.
func (w *work) report() (exchange.Row, error) {
	r := Row{Line: w.line, OK: w.err == nil, Action: w.action, ResponseID: fault.Echo(w.id), MissingAttachments: w.missing, Warnings: exchange.Fields(w.notes)}
	if w.err != nil {
		r.Action = refused
		r.Error = exchange.Problem(withheld(w.err))
	}
	text, err := web.Encode(r)
	return exchange.Row{Line: w.line, OK: r.OK, Data: string(text)}, err
}
