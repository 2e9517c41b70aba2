package fault_test

import (
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/hearth-dmrv/hearth/internal/fault"
)

func TestUnclassifiedIsInternal(t *testing.T) {
	t.Parallel()
	err := fmt.Errorf("read file: %w", io.ErrUnexpectedEOF)
	if fault.As(err) != nil || fault.KindOf(err) != fault.Internal || fault.CodeOf(err) != "" {
		t.Errorf("As = %v, KindOf = %v, CodeOf = %q; want nothing shown", fault.As(err), fault.KindOf(err), fault.CodeOf(err))
	}
}

func TestCopiesLeaveTheOriginalAlone(t *testing.T) {
	t.Parallel()
	base := fault.New(fault.NotFound, "X_NOT_FOUND", "No x.")
	got := base.Wrap(io.EOF).With(fault.Field{Pointer: "/a", Code: "required"}).After(time.Second).Showing(struct{}{})
	if base.Err != nil || base.Fields != nil || base.RetryAfter != 0 || base.Members != nil {
		t.Errorf("the original changed: %+v", base)
	}
	if !errors.Is(got, io.EOF) || len(got.Fields) != 1 || got.RetryAfter != time.Second || got.Members == nil {
		t.Errorf("the copy lacks something: %+v", got)
	}
	wrapped := fmt.Errorf("find x: %w", got)
	if fault.KindOf(wrapped) != fault.NotFound || fault.CodeOf(wrapped) != "X_NOT_FOUND" {
		t.Errorf("KindOf = %v, CodeOf = %q through a wrap", fault.KindOf(wrapped), fault.CodeOf(wrapped))
	}
}

func TestChecksNameEveryField(t *testing.T) {
	t.Parallel()
	var c fault.Checks
	if err := c.Err("DRAFT_INVALID", "The draft is not valid."); err != nil {
		t.Fatalf("Err() of nothing = %v", err)
	}
	c.Require(true, "/there")
	c.Require(false, "/name")
	c.Add("/size", "out_of_range", "Size must be above 0.")
	err := c.Err("DRAFT_INVALID", "The draft is not valid.")
	f := fault.As(err)
	if f == nil || f.Kind != fault.Invalid || len(f.Fields) != 2 || f.Fields[0].Pointer != "/name" || f.Fields[1].Code != "out_of_range" {
		t.Errorf("Err() = %+v", f)
	}
}
