import { readFileSync } from 'node:fs'

interface Proof {
  readonly file: string
  readonly name: string
}

/** The tests that prove one requirement. */
interface Evidence {
  readonly proofs: Proof[]
  /** Parts that are not proven yet, as the titles of tests describe them. */
  readonly rests: string[]
}

/** Matches a declared test with its title and its options. */
const testName =
  /(?:\.(?<kind>test|skip|todo)\(|on(?:Each\w+|Database|Sqlite)\((?:\s*\w+,)?)\s*(?<quote>['"`])(?<name>(?:\\.|(?!\k<quote>).)*)\k<quote>(?<skipped>\s*,\s*\{\s*(?:skip|todo):\s*(?:true\b|['"`]))?|name:\s*(?<mark>['"`])(?<data>(?:\\.|(?!\k<mark>).)*)\k<mark>/g
const requirementId = /\b[A-Z]-\d{3}\b/g
/** Matches a range of ids. `C-025..C-027` in the title of a test means all three ids. */
const requirementRange = /\b([A-Z])-(\d{3})\.\.(?:\1-)?(\d{3})\b/g
/**
 * Matches an incomplete proof. `[N-016 partly: the locale]` in the title of a test means that everything except the
 * locale is proven.
 */
const partialProof = /\[((?:[A-Z]-\d{3} ?)+)partly: ([^\]]+)\]/g

const head = `# Requirements and the tests that prove them

This page lists each requirement once: its id, its statement, and its tests. To add or change a requirement, edit its heading or its
statement. \`npm run generate\` writes the rest of this page from the names of the tests.

- **Proven by a test:** tests carry the id in their names, and none of them says that something is missing.
- **Partly proven:** a test says so in its name, and what is left: \`[N-016 partly: the locale]\`.
- **Not proven:** no test carries the id.

A test that is always skipped proves nothing and is not listed. Tests that need a server or a program are skipped where it is
missing; \`.ci/run\` has everything, and fails when such a test is skipped all the same.
`

/** Returns the page of requirements with the tests that the files contain now. */
export const requirementPage = (page: string, testFiles: readonly string[]): string =>
  pageOf(
    page,
    testFiles.map((file) => [file, readFileSync(file, 'utf8')]),
  )

/**
 * Returns the page of requirements with new lists of tests.
 *
 * @param page the current page, which contains the requirements
 * @param tests path and text of each test file
 */
export function pageOf(page: string, tests: readonly (readonly [file: string, text: string])[]): string {
  const evidence = evidenceIn(tests)
  const statements = new Map(
    [...page.matchAll(/^### ([A-Z]-\d{3})\n\n(.+)$/gm)].map(([, id = '', statement = '']) => [id, statement]),
  )
  const unknown = [...evidence.keys()].filter((id) => !statements.has(id))
  if (unknown.length > 0) throw new Error(`Tests name requirements that do not exist: ${unknown.join(', ')}`)

  const ids = [...statements.keys()]
  const not = ids.filter((id) => !evidence.has(id))
  const partly = ids.filter((id) => (evidence.get(id)?.rests.length ?? 0) > 0)
  const open = [...partly, ...not]
  const described = ([id, statement]: readonly [string, string]) => {
    const { proofs, rests } = evidence.get(id) ?? { proofs: [], rests: ['no test carries the id'] }
    return [
      `### ${id}`,
      '',
      statement,
      '',
      ...proofs.map(({ file, name }) => `- \`${file}\`: ${name.replaceAll('|', '\\|')}`),
      ...rests.map((rest) => `- Not proven: ${rest}`),
      '',
    ]
  }
  return [
    head,
    `${ids.length} requirements: ${ids.length - open.length} proven by a test, ${partly.length} partly, ${not.length} not.`,
    '',
    ...(open.length === 0 ? [] : [`Not completely proven: ${open.join(', ')}.`, '']),
    '## Requirements',
    '',
    ...[...statements].flatMap(described),
  ].join('\n')
}

/** By requirement. */
export function evidenceIn(tests: readonly (readonly [file: string, text: string])[]): ReadonlyMap<string, Evidence> {
  const evidence = new Map<string, Evidence>()
  const of = (id: string) => {
    const found = evidence.get(id) ?? { proofs: [], rests: [] }
    evidence.set(id, found)
    return found
  }
  for (const [file, text] of tests) {
    for (const { groups = {} } of text.matchAll(testName)) {
      const { kind = 'test', name = groups['data'] ?? '', skipped } = groups
      if (kind !== 'test' || skipped !== undefined) continue
      for (const id of new Set(idsIn(name)))
        of(id).proofs.push({ file, name: name.replaceAll(partialProof, '').trim() })
      for (const [, ids = '', rest = ''] of name.matchAll(partialProof)) {
        for (const id of idsIn(ids)) of(id).rests.push(rest)
      }
    }
  }
  return evidence
}

/** Returns the ids of requirements in the name of a test. `C-025..C-027` means all three. */
function idsIn(name: string): string[] {
  const ranges = [...name.matchAll(requirementRange)].flatMap(([, letter = '', from = '', to = '']) =>
    Array.from(
      { length: Number(to) - Number(from) + 1 },
      (_, index) => `${letter}-${String(Number(from) + index).padStart(3, '0')}`,
    ),
  )
  return [...ranges, ...(name.match(requirementId) ?? [])]
}
