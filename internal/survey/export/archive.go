package export

import (
	"archive/zip"
	"context"
	"encoding/hex"
	"fmt"
	"io"
	"strings"

	"github.com/hearth-dmrv/hearth/internal/sheet"
	"github.com/hearth-dmrv/hearth/internal/survey/media"
)

// archiveType is the media type of an export of several files.
const archiveType = "application/zip"

// MediaFolder is the folder of attachments in an archive: each is
// media/<sha256>, with an extension for its type. Answers name it as
// sha256:<sha256>.
const MediaFolder = "media/"

// endings maps media types to the file extensions of attachments.
var endings = map[string]string{
	"image/jpeg": ".jpg", "image/png": ".png", "image/webp": ".webp", "audio/mpeg": ".mp3", "audio/ogg": ".ogg", "audio/mp4": ".m4a",
	"video/mp4": ".mp4", "application/pdf": ".pdf", "text/plain": ".txt",
}

// part is a file of an archive: what a writer makes of the responses, or a text that
// has nothing to do with them.
type part struct {
	name string
	w    Writer
	text []byte
}

// archive writes several files into one: it asks for all responses once for each
// reading of each part, and once more for attachments.
type archive struct {
	parts []part
	files *attach // nil when attachments are not wanted
	at    int     // the part that is written

	attaching bool // all parts are written, and attachments are next

	zip   *zip.Writer
	entry io.Writer
	out   sink
	inner []byte
}

// Rows returns the rows of all parts.
func (a *archive) Rows() (n int64) {
	for _, p := range a.parts {
		if p.w != nil {
			n += p.w.Rows()
		}
	}
	return n
}

// Begin begins the first part.
func (a *archive) Begin(b []byte) ([]byte, error) {
	a.out.b = b
	a.zip = zip.NewWriter(&a.out)
	err := a.begin()
	return a.out.b, err
}

// begin begins the part at hand.
func (a *archive) begin() (err error) {
	h := zip.FileHeader{Name: a.parts[a.at].name, Method: zip.Deflate, Modified: sheet.ZipTime()}
	if _, ok := a.parts[a.at].w.(*bookWriter); ok {
		h.Method = zip.Store // a workbook is packed already
	}
	if a.entry, err = a.zip.CreateHeader(&h); err != nil {
		return fmt.Errorf("write archive: %w", err)
	}
	if p := a.parts[a.at]; p.w != nil {
		return a.put(p.w.Begin)
	}
	_, err = a.entry.Write(a.parts[a.at].text)
	return err
}

// put runs the writer of a part, and packs what it wrote.
func (a *archive) put(write func([]byte) ([]byte, error)) (err error) {
	if a.inner, err = write(a.inner[:0]); err != nil {
		return err
	}
	_, err = a.entry.Write(a.inner)
	return err
}

// Add gives the part at hand a response.
func (a *archive) Add(b []byte, r *Response) ([]byte, error) {
	a.out.b = b
	err := a.put(func(in []byte) ([]byte, error) { return a.parts[a.at].w.Add(in, r) })
	return a.out.b, err
}

// End ends a reading of the part at hand, or the archive.
func (a *archive) End(b []byte) ([]byte, bool, error) {
	a.out.b = b
	if a.attaching {
		err := a.zip.Close()
		return a.out.b, false, err
	}
	again := false
	err := a.put(func(in []byte) (out []byte, err error) {
		out, again, err = a.parts[a.at].w.End(in)
		return out, err
	})
	if err != nil || again {
		return a.out.b, again, err
	}
	for a.at++; a.at < len(a.parts); a.at++ {
		if err := a.begin(); err != nil || a.parts[a.at].w != nil {
			return a.out.b, true, err
		}
	}
	if a.attaching = true; a.files != nil {
		return a.out.b, true, nil
	}
	return a.End(a.out.b)
}

// attach writes the attachments of a response. hand receives what was written.
func (a *archive) attach(ctx context.Context, b []byte, r *Response, hand func([]byte) ([]byte, error)) ([]byte, error) {
	a.out.b = b
	err := a.files.response(ctx, a, r, hand)
	return a.out.b, err
}

// attach writes attachments into an archive, each once.
type attach struct {
	s    *Service
	ws   string
	seen map[[32]byte]struct{}

	there, missing int64
}

// response writes the attachments of one response that the exported revision
// names: it may have had others before or since.
func (a *attach) response(ctx context.Context, to *archive, r *Response, hand func([]byte) ([]byte, error)) error {
	hashes, err := media.Of(ctx, a.s.db, r.NID)
	if err != nil {
		return err
	}
	for _, hash := range hashes {
		if !strings.Contains(r.Answers, hash) && !strings.Contains(r.Head, hash) {
			continue
		}
		var key [32]byte
		if _, err := hex.Decode(key[:], []byte(hash)); err != nil {
			return fmt.Errorf("read name of attachment: %w", err)
		}
		if _, ok := a.seen[key]; ok {
			continue
		}
		a.seen[key] = struct{}{}
		f, err := media.Find(ctx, a.s.db, a.ws, hash)
		if err != nil {
			return err
		}
		if f == nil {
			a.missing++
			continue
		}
		a.there++
		if err := a.file(ctx, to, f, hand); err != nil {
			return err
		}
	}
	return nil
}

// file writes one attachment, a piece at a time.
func (a *attach) file(ctx context.Context, to *archive, f *media.File, hand func([]byte) ([]byte, error)) error {
	// Pictures and sounds are packed already.
	w, err := to.zip.CreateHeader(&zip.FileHeader{Name: MediaFolder + f.SHA256 + endings[f.MediaType], Method: zip.Store, Modified: sheet.ZipTime()})
	if err != nil {
		return fmt.Errorf("write archive: %w", err)
	}
	in, piece := a.s.cfg.Media.Open(ctx, f), make([]byte, 256<<10)
	for off := int64(0); off < f.Bytes; {
		n, err := in.ReadAt(piece[:min(int64(len(piece)), f.Bytes-off)], off)
		if n == 0 && err != nil {
			return fmt.Errorf("read attachment: %w", err)
		}
		if _, err := w.Write(piece[:n]); err != nil {
			return err
		}
		if to.out.b, err = hand(to.out.b); err != nil {
			return err
		}
		off += int64(n)
	}
	return nil
}
