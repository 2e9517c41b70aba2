package file_test

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"testing/iotest"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/file"
)

// received stores size bytes of noise as a file.
func received(t *testing.T, d *db.DB, id string, size int) (*file.File, []byte) {
	t.Helper()
	noise := rand.New(rand.NewPCG(1, uint64(size)))
	raw := make([]byte, size)
	for i := range raw {
		raw[i] = byte(noise.UintN(50))
	}
	f := &file.File{ID: id, Workspace: "w", Kind: file.Upload}
	if err := d.InTx(t.Context(), func(tx *db.Tx) error { return file.Insert(t.Context(), tx, f) }); err != nil {
		t.Fatal(err)
	}
	if err := file.Receive(t.Context(), d, f, iotest.HalfReader(bytes.NewReader(raw))); err != nil {
		t.Fatal(err)
	}
	return f, raw
}

func TestReadAnywhere(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		for _, size := range []int{0, 1, file.PieceSize - 1, file.PieceSize, 2*file.PieceSize + 77} {
			f, raw := received(t, d, db.NewID(), size)
			sum := sha256.Sum256(raw)
			if f.Bytes != int64(size) || f.SHA256 != hex.EncodeToString(sum[:]) {
				t.Errorf("%d bytes: %+v", size, f)
			}
			if err := iotest.TestReader(io.NewSectionReader(file.Open(t.Context(), d, f), 0, f.Bytes), raw); err != nil {
				t.Errorf("%d bytes: %v", size, err)
			}
			part := make([]byte, min(size, 1000))
			if n, err := file.Open(t.Context(), d, f).ReadAt(part, int64(size-len(part))); err != nil || !bytes.Equal(part[:n], raw[size-n:]) {
				t.Errorf("%d bytes: the end is %d bytes, %v", size, n, err)
			}
		}
	})
}

func TestDrop(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		f, _ := received(t, d, "a", 3*file.PieceSize)
		other, raw := received(t, d, "b", 10)
		if err := errors.Join(file.Drop(t.Context(), d, f.ID), file.Drop(t.Context(), d, "")); err != nil {
			t.Fatal(err)
		}
		if gone, err := file.Find(t.Context(), d, f.ID); err != nil || gone != nil {
			t.Errorf("Find = %v, %v; want nothing", gone, err)
		}
		if _, err := file.Open(t.Context(), d, f).ReadAt(make([]byte, 1), 0); err == nil {
			t.Error("a piece is still there")
		}
		if got, err := file.Piece(t.Context(), d, other.ID, 0); err != nil || !bytes.Equal(got, raw) {
			t.Errorf("the other file is %q, %v", got, err)
		}
	})
}

// What the body says when it breaks off comes out, for the edge to name.
func TestBrokenBody(t *testing.T) {
	t.Parallel()
	d := dbtest.SQLite(t)
	f := &file.File{ID: "a", Workspace: "w", Kind: file.Upload}
	if err := file.Receive(t.Context(), d, f, iotest.ErrReader(io.ErrClosedPipe)); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("err = %v, want %v", err, io.ErrClosedPipe)
	}
}
