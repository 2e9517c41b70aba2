package surveytest

import (
	"os/exec"
	"testing"
)

// R is the path of Rscript. A test for which R lacks a package is skipped with a
// message: survey computes the figures, and calibrates weights with MASS.
func R(t *testing.T) string {
	t.Helper()
	rscript, err := exec.LookPath("Rscript")
	if err != nil || exec.CommandContext(t.Context(), rscript, "-e", "library(survey); library(MASS)").Run() != nil {
		t.Skip("NOT COMPARED WITH R: install Rscript and its packages survey and MASS (Debian: r-cran-survey r-cran-mass)")
	}
	return rscript
}
