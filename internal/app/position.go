package app

import (
	"context"
	"net/http"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/web"
)

// positionHeader says in the answer to a write where in the log of the database it is,
// and in a read what its answer must show.
const positionHeader = "Hearth-Position"

// positions lets a replica answer readers of /v1 who send a position, and tells writers
// theirs. Readers without one read the primary.
func positions(d *db.DB, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case !under(r.URL.Path, "/v1"):
		case r.Method == http.MethodGet || r.Method == http.MethodHead:
			text := r.Header.Get(positionHeader)
			if text == "" {
				break
			}
			at, ok := db.ParsePosition(text)
			if !ok {
				web.Problem(w, r, fault.New(fault.Invalid, "INVALID_PARAMETER", "A parameter is not valid.").With(fault.Field{
					Pointer: "header/" + positionHeader, Code: "invalid_format", Detail: "Send the value of this header from the answer to a write, such as 0/16B3748.",
				}))
				return
			}
			r = r.WithContext(db.Since(r.Context(), d, at))
		default:
			ctx, written := db.Watch(r.Context(), d)
			r = r.WithContext(ctx)
			w = &positioned{ResponseWriter: w, position: func() string { return positionOf(ctx, d, written) }}
		}
		next.ServeHTTP(w, r)
	})
}

// positionOf is the position of a successful request's writes. One that stored
// nothing itself, for example a repeat, gets the present end of the log.
func positionOf(ctx context.Context, d *db.DB, written *db.Written) string {
	at := written.Position()
	if at == "" {
		var err error
		if at, err = db.PositionOf(ctx, d); err != nil {
			return "" // the caller reads the primary
		}
	}
	return string(at)
}

// positioned adds the position to an answer when it begins.
type positioned struct {
	http.ResponseWriter
	position func() string
	begun    bool
}

func (p *positioned) WriteHeader(status int) {
	if !p.begun && status >= 200 {
		p.begun = true
		if status < 300 {
			p.Header().Set(positionHeader, p.position())
		}
	}
	p.ResponseWriter.WriteHeader(status)
}

func (p *positioned) Write(b []byte) (int, error) {
	if !p.begun {
		p.WriteHeader(http.StatusOK)
	}
	return p.ResponseWriter.Write(b)
}

// Unwrap lets http.ResponseController find the connection.
func (p *positioned) Unwrap() http.ResponseWriter { return p.ResponseWriter }

// FlushError begins an answer that has no body yet.
func (p *positioned) FlushError() error {
	if !p.begun {
		p.WriteHeader(http.StatusOK)
	}
	return http.NewResponseController(p.ResponseWriter).Flush()
}
