import { type ConformanceCase, ConformanceError } from '../conformance/conformance-case.ts'

/** Broken implementations with which a conformance kit is tested. */
export interface BrokenImplementations<Fault> {
  /** The broken implementations by the case that must reject them, then by a description of the fault. */
  readonly refused: Readonly<Record<string, Readonly<Record<string, Fault>>>>
  /** Faults that no case can detect, with the reason. */
  readonly survivors: Readonly<Record<string, { readonly reason: string; readonly fault: Fault }>>
}

export interface KitTestResult {
  /** Cases that reject the correct implementation. */
  readonly wronglyRejected: readonly string[]
  /** Faults that the case in the table does not detect. */
  readonly missed: readonly string[]
  /** Faults listed in `survivors` that a case detects nevertheless. */
  readonly noSurvivors: readonly string[]
  /** Cases for which the table contains no fault. */
  readonly unproven: readonly string[]
  /** Errors of cases that lack the violated rule or the advice. */
  readonly vague: readonly string[]
  readonly faults: number
  /** Share of the faults that the kit detects, from 0 to 1. */
  readonly share: number
}

/** Runs cases at the same time. Returns the error of each case that fails. */
async function failuresOf(cases: readonly ConformanceCase[]): Promise<ReadonlyMap<string, unknown>> {
  const failures = new Map<string, unknown>()
  const runs = cases.map(({ name, run }) => run().catch((error: unknown) => failures.set(name, error)))
  await Promise.all(runs)
  return failures
}

const isVague = (error: unknown) =>
  !(error instanceof ConformanceError) ||
  !error.advice ||
  !error.message.startsWith(`${error.rule}\n  expected: `) ||
  !error.message.includes(`\n  to do:    ${error.advice}`)

/**
 * Tests a kit with a correct implementation and with all broken ones.
 *
 * @param kit returns the cases for an implementation with the given fault; without a fault, for the correct
 * implementation
 */
export async function testConformanceKit<Fault>(
  kit: (fault?: Fault) => readonly ConformanceCase[],
  { refused, survivors }: BrokenImplementations<Fault>,
): Promise<KitTestResult> {
  const names = kit().map(({ name }) => name)
  const wronglyRejected = await failuresOf(kit())
  const vague: string[] = []
  const missed: string[] = []
  const noSurvivors: string[] = []
  const judge = async (fault: Fault, what: string, by: string | undefined) => {
    const failures = await failuresOf(kit(fault).filter(({ name }) => by === undefined || name === by))
    for (const [name, error] of failures) if (isVague(error)) vague.push(`${what}: ${name}: ${error}`)
    if (by === undefined && failures.size > 0) noSurvivors.push(`${what}: ${[...failures.keys()]}`)
    if (by !== undefined && failures.size === 0) missed.push(`${by}: ${what}`)
  }
  const waiting: { fault: Fault; what: string; by: string | undefined }[] = Object.entries(refused).flatMap(
    ([by, faults]) => Object.entries(faults).map(([what, fault]) => ({ fault, what, by })),
  )
  for (const [what, { fault }] of Object.entries(survivors)) waiting.push({ fault, what, by: undefined })
  const total = waiting.length
  const next = async (): Promise<void> => {
    for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) await judge(one.fault, one.what, one.by)
  }
  await Promise.all(Array.from({ length: 8 }, next))
  return {
    wronglyRejected: [...wronglyRejected].map(([name, error]) => `${name}: ${error}`),
    missed,
    noSurvivors,
    vague,
    unproven: names.filter((name) => !(name in refused)),
    faults: total,
    share: total === 0 ? 0 : (total - missed.length - Object.keys(survivors).length) / total,
  }
}
