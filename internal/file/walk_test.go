package file_test

import (
	"bytes"
	"errors"
	"io"
	"math/rand/v2"
	"testing"
	"testing/iotest"

	"github.com/hearth-dmrv/hearth/internal/db"
	"github.com/hearth-dmrv/hearth/internal/db/dbtest"
	"github.com/hearth-dmrv/hearth/internal/file"
)

// content is what a walker finds on its way from the beginning to the end.
func content(w *file.Walker) ([]byte, error) { return io.ReadAll(io.NewSectionReader(w, 0, w.Size())) }

func TestWalk(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		for _, size := range []int{0, 1, 2*file.PieceSize + 77} {
			f, raw := received(t, d, db.NewID(), size)
			if got, err := content(file.Walk(t.Context(), d, f)); err != nil || !bytes.Equal(got, raw) {
				t.Errorf("%d bytes: %d came, %v", size, len(got), err)
			}
			surveyed := file.Walk(t.Context(), d, f)
			if err := surveyed.Survey(t.Context(), d, f.ID); err != nil {
				t.Fatal(err)
			}
			last := make([]byte, min(1, size))
			if _, err := surveyed.ReadAt(last, int64(size-len(last))); err != nil || !bytes.Equal(last, raw[size-len(last):]) {
				t.Errorf("the last byte of %d: %q, %v", size, last, err)
			}
		}
		f, _ := received(t, d, db.NewID(), 10)
		f.Bytes = 20
		if _, err := content(file.Walk(t.Context(), d, f)); err == nil {
			t.Error("a piece is missing, and nobody noticed")
		}
	})
}

// TestWalkAnywhere reads pieces of all sizes from all places, in any order.
func TestWalkAnywhere(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		var pieces [][]byte
		var whole []byte
		for range rng.IntN(6) {
			p := bytes.Repeat([]byte{byte(rng.IntN(256))}, 1+rng.IntN(40))
			pieces, whole = append(pieces, p), append(whole, p...)
		}
		w := file.NewWalker(int64(len(whole)), func(n int64) ([]byte, error) {
			if n >= int64(len(pieces)) {
				return nil, errors.New("there is no such piece")
			}
			return pieces[n], nil
		})
		for range 10 {
			from := rng.IntN(len(whole) + 1)
			n := rng.IntN(len(whole) - from + 1)
			got := make([]byte, n)
			if m, err := w.ReadAt(got, int64(from)); m != n || err != nil || !bytes.Equal(got, whole[from:from+n]) {
				t.Fatalf("%d bytes from %d of %d: %d, %v", n, from, len(whole), m, err)
			}
		}
		if err := iotest.TestReader(io.NewSectionReader(w, 0, w.Size()), whole); err != nil {
			t.Fatal(err)
		}
	}
}
