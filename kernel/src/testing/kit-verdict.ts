import { type ConformanceCase, ConformanceError } from '../conformance/conformance-case.ts'

/** Faulty implementations, by which a conformance kit is judged. */
export interface FaultTable<Fault> {
  /** By the case that must refuse it, then by what is wrong with it. */
  readonly refused: Readonly<Record<string, Readonly<Record<string, Fault>>>>
  /** What no case can see, with the reason. */
  readonly survivors: Readonly<Record<string, { readonly reason: string; readonly fault: Fault }>>
}

export interface KitVerdict {
  /** Cases that refuse the correct implementation. */
  readonly wronglyRefused: readonly string[]
  /** Faults that the case named in the table passes. */
  readonly missed: readonly string[]
  /** Survivors of the table that some case does refuse. */
  readonly noSurvivors: readonly string[]
  /** Cases for which the table has no fault. */
  readonly unproven: readonly string[]
  /** Refusals that do not say which rule is broken, or what to do about it. */
  readonly vague: readonly string[]
  readonly faults: number
  /** Share of the faults that the kit refuses, 0 to 1. */
  readonly share: number
}

/** What each failing case threw. The cases run at the same time. */
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
 * Runs a kit against a correct implementation and every faulty one.
 *
 * @param kit the cases over the implementation with this fault; over the correct one without
 */
export async function judgeKit<Fault>(
  kit: (fault?: Fault) => readonly ConformanceCase[],
  { refused, survivors }: FaultTable<Fault>,
): Promise<KitVerdict> {
  const names = kit().map(({ name }) => name)
  const wronglyRefused = await failuresOf(kit())
  const vague: string[] = []
  const missed: string[] = []
  const noSurvivors: string[] = []
  const judge = async (fault: Fault, what: string, by: string | undefined) => {
    const failures = await failuresOf(kit(fault).filter(({ name }) => by === undefined || name === by))
    for (const [name, error] of failures) if (isVague(error)) vague.push(`${what}: ${name}: ${error}`)
    if (by === undefined && failures.size > 0) noSurvivors.push(`${what}: ${[...failures.keys()]}`)
    if (by !== undefined && failures.size === 0) missed.push(`${by}: ${what}`)
  }
  const waiting = Object.entries(refused).flatMap(([by, faults]) =>
    Object.entries(faults).map(([what, fault]) => ({ fault, what, by: by as string | undefined })),
  )
  for (const [what, { fault }] of Object.entries(survivors)) waiting.push({ fault, what, by: undefined })
  const total = waiting.length
  const next = async (): Promise<void> => {
    for (let one = waiting.shift(); one !== undefined; one = waiting.shift()) await judge(one.fault, one.what, one.by)
  }
  await Promise.all(Array.from({ length: 8 }, next))
  return {
    wronglyRefused: [...wronglyRefused].map(([name, error]) => `${name}: ${error}`),
    missed,
    noSurvivors,
    vague,
    unproven: names.filter((name) => !(name in refused)),
    faults: total,
    share: total === 0 ? 0 : (total - missed.length - Object.keys(survivors).length) / total,
  }
}
