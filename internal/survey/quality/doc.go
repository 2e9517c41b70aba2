package quality

import "github.com/hearth-dmrv/hearth/internal/survey/flag"

// reporting explains the report. Every number of it is one of these words.
var reporting = "Flags by check and collector, lengths of interviews, refusals, collectors whose answers differ from those of the others, error rates of back-checks, and whether the template is due for a review. " +
	"Superseded, invalidated and redacted responses are not counted. Up to 1,000 responses are counted for the answer (live); with more, the answer is what the last run found. effects, differences and comparisons always come from the last run.\n\n" +
	"A flag is a reason to look, not a verdict. These checks make one; limits in *italics* are settings of `quality/rules`:\n\n" + flag.Table(append(flag.Checks(), overMany...)) + "\n\n" +
	"**duration_short** and **collector_fast** take the medians of a survey and its collectors from counters when a response comes, known within 5 %; a run recomputes both over all responses of its round, including the first 20. A response that was flagged when it came stays flagged.\n\n" +
	"**enumerator_effect.** A run compares, for every question for a number and every option of a choice that is not marked as personal and not in a repeat, the collectors with 20 answers or more (*effectInterviews*), each with all others. " +
	"For numbers it compares the mean, for choices the share; numbers count by their distance from the median of all answers, at most 2 robust standard deviations, so that no single answer weighs much. " +
	"A collector's value m is compared with M, the median of the values of the others. score = (m - M) / e with e² = w/n + t + π/2 · (w/n of the others, on average, + t) / (k - 1): " +
	"k collectors, n answers of the collector, w the variance within collectors. t is the variance between collectors who did nothing wrong but work in different places: (1.4826 · MAD of the others)² less what chance gives, " +
	"at least 2 % of the variance of all answers, and at least the share that is usual in this survey (the upper quartile over its questions). " +
	"The limit is the larger of 3 (*effectZ*) and the score that chance passes in none of the run's comparisons with 95 % (Bonferroni; 500 comparisons: 3.89). " +
	"The difference must also be 0.5 robust standard deviations, or 15 points of a share and 5 answers.\n\n" +
	"A collector beyond the limit stands out (effects), and the responses of this collector are flagged with the strongest effect, **if fewer than half of the collectors are beyond it**. " +
	"With two collectors nobody can tell which one is right, nor can anybody when half of them differ from the other half: that is a difference of the survey (differences), and nobody is flagged. With one collector nothing is compared. " +
	"Simulated surveys of 20 questions flag fewer than 1 in 100 honest collectors, also where up to 10 % of the variance lies between the places of 20 collectors; with six collectors in such places it is about 1 in 25. " +
	"They find 9 of 10 collectors who shift one answer by two standard deviations in 40 interviews (60 of three collectors). An effect says that answers differ, not why: look at where the collector worked, at pictures, and at back-checks."

// overMany are the checks that a run makes over many responses.
var overMany = []flag.Check{
	{Name: Outlier, Flags: "a number more than 3.5 (*outlierZ*) robust standard deviations (1.4826 · MAD) from the median of the question; value: how many. Where more than half of the answers are the same and MAD is 0, it is that of the answers that differ; when fewer than 5 differ, 1.2533 times the mean deviation, and these few stand out", Not: "fewer than 20 answers (*outlierAnswers*), all answers the same, repeats, more than 200 questions"},
	{Name: Duplicate, Flags: "two households within 5 m (*duplicateMetres*; value: metres, shown to the same keys as those of gps_distance), with the same telephone, document or serial number, or with the same answers to everything marked as direct (two or more)", Not: "no place; texts shorter than 4 letters or digits"},
	{Name: Copied, Flags: "95 % (*copiedShare*) of the answers those of another interview of the same collector within 24 h (*copiedHours*), if chance gives that to fewer than one pair in a million (20 bits, by how often interviews of different collectors agree in each question)", Not: "fewer than 10 answers, interviews before the last 100 of the collector"},
	{Name: flag.SensorMismatch, Flags: "an answer that disagrees with what sensors or kitchen tests measured in the household, by POST cross-reference; value: what was measured, limit: what was said", Not: "surveys without a cross-reference"},
	{Name: Effect, Flags: "all responses of a collector who stands out; see below", Not: "fewer than 20 answers of a collector (*effectInterviews*), fewer than 3 collectors"},
}
