package attach

import (
	"context"
	"errors"
	"io"
	"mime"
	"path"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/oracle/pdf"
)

const (
	maxDocument   = 10 << 20 // bytes of a PDF, which is read whole
	documentsOnce = 2        // that are read at a time
)

// pdfType is the media type of PDF files.
const pdfType = "application/pdf"

// Why a PDF could not be read.
const (
	largeDocument  = "it is a PDF larger than 10 MB"
	noDocument     = "it is not a PDF that can be read"
	sealedDocument = "it is a PDF that needs a password"
	noWords        = "it is a PDF without text, such as a scan"
)

// isDocument reports whether a file is a PDF, by its type or its name.
func isDocument(mimetype, filename string) bool {
	kind, _, err := mime.ParseMediaType(mimetype)
	return err == nil && kind == pdfType || strings.EqualFold(path.Ext(filename), ".pdf") && !readable(mimetype, filename)
}

// document reads the text of a PDF. Few are read at a time, for each is whole in memory.
func (r *Reader) document(ctx context.Context, body io.Reader) (text string, whole bool, err error) {
	select {
	case r.documents <- struct{}{}:
		defer func() { <-r.documents }()
	case <-ctx.Done():
		return "", false, ctx.Err()
	}
	raw, err := io.ReadAll(io.LimitReader(body, maxDocument+1))
	switch {
	case err != nil:
		return "", false, err
	case len(raw) > maxDocument:
		return "", false, refusal(largeDocument)
	}
	text, whole, err = pdf.Text(ctx, raw, readBytes)
	switch {
	case errors.Is(err, pdf.ErrForm):
		return "", false, refusal(noDocument)
	case errors.Is(err, pdf.ErrSealed):
		return "", false, refusal(sealedDocument)
	case errors.Is(err, pdf.ErrNoText):
		return "", false, refusal(noWords)
	case err != nil:
		return "", false, err
	}
	text, all := beginning(text, MaxText)
	return text, whole && all, nil
}
