package client

import (
	"context"
	"net/http"
	"net/url"

	"github.com/hearth-dmrv/hearth/api"
)

// MadeFile is the type of package api.
type MadeFile = api.MadeFile

// Files lists the files that the oracle has made for this client's principal, newest
// first.
func (o Oracle) Files(ctx context.Context, opts ...Option) (*Page[MadeFile], error) {
	return do[Page[MadeFile]](ctx, o.c, o.file(get("/files", nil)), opts)
}

// File reads a file that the oracle has made for this client's principal.
func (o Oracle) File(ctx context.Context, id string, opts ...Option) ([]byte, error) {
	return o.c.send(ctx, o.file(get("/files/"+url.PathEscape(id), nil)), opts)
}

// RemoveFile removes a file that the oracle has made for this client's principal.
func (o Oracle) RemoveFile(ctx context.Context, id string, opts ...Option) error {
	_, err := o.c.send(ctx, o.file(remove("/files/"+url.PathEscape(id))), opts)
	return err
}

// file is a call with the key in the header that the oracle reads.
func (o Oracle) file(k call) call {
	k.head = http.Header{"X-Api-Key": {o.c.cfg.Key}}
	return k
}
