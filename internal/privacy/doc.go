// Package privacy hides what is about people from callers who may not know it,
// and removes it when a person is erased. It takes names, never a protocol or a
// template: the areas say which property or question is personal.
//
// # Who sees what
//
// Of a twin (ADR 0019), callers who have the scope entities:pii, or control the
// twin themselves or through a group, see the stored record. Everybody else sees
// it without the properties that any published version of its protocol has
// marked as personal, without what metadata has under their names, and with
// those names in withheld. In summaries, such as graphs, only the scope counts.
// A map shows all places, rounded to 0.01 degrees for callers without the scope.
// Nobody filters, sorts or searches by what they may not see, and they get an
// HMAC in place of hashes.
//
// Of a response (ADR 0015), callers with the scope responses:pii see all. A
// caller who has collected or sent it sees who it is about and what they added
// themselves, but not the sealed answers: those marked pii, and the place of the
// interview. Everybody else sees the public answers, a list of what is masked,
// and pseudonyms for households, people and devices. On lists of households,
// callers who collect or manage (responses:write, surveys:write) see who is who.
// Everybody knows themselves, and a person who decides about a response is named
// by DID.
//
// A verifier (responses:verify without responses:pii) sees as evidence the
// pictures, sounds and files of questions that are not marked direct, places
// rounded to 0.01 degrees, and distances between hidden places, unless the
// verifier could move one of them. Exports below full have the pseudonyms,
// rounded places (0.1 degrees), and a reference in place of the id of a
// response.
//
// An operator who has the store but not the server's key can neither read a
// sealed answer nor resolve a pseudonym. Nobody can read what was erased.
//
// # What does it
//
//   - Without and Drop: the record of a twin without what is withheld.
//   - Names and Sight: a household, person or device has one pseudonym in all
//     reads and files of a project, and another in each project. RecordName is the
//     reference of a response.
//   - Package vault: personal answers are sealed under a key of the household,
//     that under one of the project, and that under the server's own. It knows
//     which households a workspace has erased: nothing new is stored about them,
//     and an erasure and transactions that store wait for each other.
//   - Registry: what each column of the store can hold about a person, which
//     part removes it when a person is erased, and what stays. The owner of a
//     table declares it with Table; app joins the declarations, a test compares
//     them with the schema of both databases, and the certificate of an erasure
//     takes its list of what stays from them.
package privacy
