// Package media keeps the pictures, sounds and papers that belong to responses,
// each once in a workspace, by the hash of its bytes. They are stored in pieces
// that are sealed with the server's key: no file is ever whole in memory, and
// none lies open in the data folder.
//
// A file may arrive before or after the response that names it. A file that no
// response uses is removed after some days. Who may read a file is decided
// elsewhere.
package media

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/fault"
	"github.com/hearth-dmrv/hearth/internal/file"
	"github.com/hearth-dmrv/hearth/internal/secret"
)

// Limits of attachments.
const (
	MaxBytes  = 20 << 20
	pieceSize = 256 << 10
	// maxLoose is how many files a workspace has that no response uses yet.
	maxLoose = 10_000
	// maxArriving is how many arrive at once.
	maxArriving = 100
	// arriveIn is how long an upload may take before its parts are removed.
	arriveIn = 6 * time.Hour
	// Life is how long a file stays that no response uses.
	Life = 14 * 24 * time.Hour
)

// Config configures a Store.
type Config struct {
	DB  *db.DB
	Key secret.Key       // seals the pieces
	Now func() time.Time // the clock of the store by default
}

// Store keeps files.
type Store struct {
	db  *db.DB
	box secret.Box
	now func() time.Time
	// flights are the files that are being sent.
	flights *file.Flights
}

// New makes a Store over a migrated database.
func New(cfg Config) *Store {
	cfg.Now = db.Clock(cfg.DB, cfg.Now)
	return &Store{db: cfg.DB, box: cfg.Key.Box("attachments"), now: cfg.Now, flights: &file.Flights{}}
}

// File describes a file.
type File struct {
	Workspace string
	SHA256    string // hexadecimal
	MediaType string
	Bytes     int64
	Sender    string // DID
	At        int64  // ms
	id        int64  // of its pieces
	loose     int64
}

// ParseType normalises the media type of a file. The fault is
// INVALID_PARAMETER.
func ParseType(text string) (string, error) {
	if text == "" {
		return "application/octet-stream", nil
	}
	media, params, err := mime.ParseMediaType(text)
	if err == nil {
		media = mime.FormatMediaType(media, params)
	}
	if err != nil || media == "" || len(media) > 200 {
		return "", fault.New(fault.Invalid, "INVALID_PARAMETER", "A parameter is not valid.").
			With(fault.Field{Pointer: "header/Content-Type", Code: "invalid", Detail: "The value must be a media type such as image/jpeg, at most 200 characters."})
	}
	return media, nil
}

// Receive stores body as the file f. Its name says what its hash must be, and its type
// how it must begin. It returns false when the file existed before. Faults:
// ATTACHMENT_MISMATCH, ATTACHMENT_TYPE, IMAGE_TOO_LARGE, BODY_REQUIRED, BODY_TOO_LARGE,
// BODY_TOO_SLOW, BODY_UNREADABLE, TOO_MANY_FILES. When it fails nothing is left; after a
// crash Expire removes the remains.
func (s *Store) Receive(ctx context.Context, f *File, body io.Reader) (*File, bool, error) {
	// One byte more than fits shows that it does not.
	body = io.LimitReader(body, MaxBytes+1)
	there, err := Find(ctx, s.db, f.Workspace, f.SHA256)
	if err != nil {
		return nil, false, err
	}
	if there != nil {
		// Whoever does not have the bytes must not learn that we have.
		return there, false, s.read(body, f.SHA256, func(int64, []byte) error { return nil })
	}
	f.id, f.At = s.db.NewNID(), s.now().UnixMilli()
	if err := s.db.InTx(ctx, func(tx *db.Tx) error { return begin(ctx, tx, f) }); err != nil {
		return nil, false, err
	}
	f.Bytes = 0
	err = s.read(body, f.SHA256, func(n int64, raw []byte) error {
		if n == 0 {
			if err := checkType(f.MediaType, raw); err != nil {
				return err
			}
		}
		f.Bytes += int64(len(raw))
		sealed := s.box.Seal(f.bind(n), raw)
		return s.db.InTx(ctx, func(tx *db.Tx) error { return addPiece(ctx, tx, f.id, n, sealed) })
	})
	fresh := false
	if err == nil {
		err = s.db.InTx(ctx, func(tx *db.Tx) (err error) {
			fresh, err = finish(ctx, tx, f)
			return err
		})
	}
	if err != nil || !fresh {
		// The caller may have left; the parts must be removed all the same.
		if gone := s.drop(context.WithoutCancel(ctx), f.id); gone != nil {
			return nil, false, errors.Join(err, gone)
		}
	}
	return f, fresh, err
}

// checkType requires that a file begins as its type says, and does not unpack to a
// picture too large for any screen. It unpacks nothing.
func checkType(kind string, head []byte) error {
	if !file.Fits(kind, head) {
		found := file.Sniff(head)
		if found == "" {
			found = "something else"
		}
		return fault.New(fault.Unsupported, "ATTACHMENT_TYPE", "The file does not match its Content-Type. Send it with its own type, or as application/octet-stream.").
			With(fault.Field{Pointer: "header/Content-Type", Code: "mismatch", Detail: "The bytes are " + found + "."})
	}
	if file.IsHuge(head) {
		return fault.New(fault.TooLarge, "IMAGE_TOO_LARGE", fmt.Sprintf("The picture has more than %d pixels.", file.MaxPixels))
	}
	return nil
}

// read passes the pieces of a body to take, and checks their hash.
func (s *Store) read(body io.Reader, hash string, take func(n int64, raw []byte) error) error {
	sum, raw, size := sha256.New(), make([]byte, pieceSize), 0
	for n := int64(0); ; n++ {
		got, err := io.ReadFull(body, raw)
		last := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		if err != nil && !last {
			return bodyFault(err)
		}
		if size += got; size > MaxBytes {
			return TooLarge()
		}
		if got > 0 {
			_, _ = sum.Write(raw[:got]) // a hash never fails
			if err := take(n, raw[:got]); err != nil {
				return err
			}
		}
		if last {
			break
		}
	}
	if size == 0 {
		return fault.New(fault.Invalid, "BODY_REQUIRED", "The body must be the file.")
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != hash {
		return fault.New(fault.Invalid, "ATTACHMENT_MISMATCH", "The bytes do not match the hash they are named by. Send the file again.").
			With(fault.Field{Pointer: "path/sha256", Code: "mismatch", Detail: "The SHA-256 of the body is " + got + "."})
	}
	return nil
}

// TooLarge is the fault of a file that is too large.
func TooLarge() error {
	return fault.New(fault.TooLarge, "BODY_TOO_LARGE", fmt.Sprintf("The body is larger than %d bytes.", MaxBytes))
}

// bodyFault names what went wrong with a body.
func bodyFault(err error) error {
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return TooLarge()
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fault.New(fault.TooSlow, "BODY_TOO_SLOW", "The body did not arrive in time.").Wrap(err)
	}
	return fault.New(fault.Invalid, "BODY_UNREADABLE", "The body could not be read to its end.").Wrap(err)
}

// bind keeps a sealed piece in its place.
func (f *File) bind(n int64) string {
	return f.Workspace + "\n" + f.SHA256 + "\n" + strconv.FormatInt(f.id, 10) + "\n" + strconv.FormatInt(n, 10)
}

// Open makes a reader of a file. ctx bounds all its reading.
func (s *Store) Open(ctx context.Context, f *File) *file.Walker {
	return file.NewWalker(f.Bytes, func(n int64) ([]byte, error) {
		sealed, err := findPiece(ctx, s.db, f.id, n)
		if err != nil {
			return nil, err
		}
		raw, err := s.box.Open(f.bind(n), sealed)
		if err != nil {
			return nil, fmt.Errorf("open piece %d of attachment: %w", n, err)
		}
		return raw, nil
	})
}

// piecesAtOnce is how many pieces one transaction removes.
const piecesAtOnce = 10

// drop removes pieces that belong to no attachment.
func (s *Store) drop(ctx context.Context, id int64) error {
	for {
		n, err := s.remove(ctx, id, piecesAtOnce)
		if err != nil || n == 0 {
			return err
		}
	}
}

// remove removes some pieces and, after the last, the record of the file.
func (s *Store) remove(ctx context.Context, id int64, limit int) (int, error) {
	n, err := removePieces(ctx, s.db, id, min(limit, piecesAtOnce))
	if err != nil || n > 0 {
		return n, err
	}
	return removeFile(ctx, s.db, id)
}

// Expire removes files that no response has used since before, broken uploads,
// and what was dropped. It removes at most limit things, and returns how many;
// call it until it removes none.
func (s *Store) Expire(ctx context.Context, before time.Time, limit int) (int, error) {
	id, err := oldest(ctx, s.db, s.now().Add(-arriveIn).UnixMilli())
	if err != nil {
		return 0, err
	}
	if id != 0 {
		return s.remove(ctx, id, limit)
	}
	f, err := loosest(ctx, s.db, before.UnixMilli())
	if err != nil || f == nil {
		return 0, err
	}
	return 1, s.db.InTx(ctx, func(tx *db.Tx) error {
		used, err := isUsed(ctx, tx, f.Workspace, f.SHA256)
		if err != nil {
			return err
		}
		if used { // a response came at the same moment as the file
			return tie(ctx, tx, f.Workspace, f.SHA256)
		}
		return dropFile(ctx, tx, f.Workspace, f.SHA256)
	})
}

// Sweep removes what was dropped in a workspace, so that after an erasure
// nothing remains. left reports that some is still being sent.
func (s *Store) Sweep(ctx context.Context, ws string) (left bool, err error) {
	ids, err := dropped(ctx, s.db, ws)
	if err != nil {
		return false, err
	}
	left = len(ids) == droppedPage
	for _, id := range ids {
		if s.flights.Busy(flight(id)) {
			left = true
			continue
		}
		if err := s.drop(ctx, id); err != nil {
			return false, err
		}
	}
	return left, nil
}

// flight names a file among those that are being sent.
func flight(id int64) string { return strconv.FormatInt(id, 10) }
