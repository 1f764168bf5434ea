import { type ConformanceCase, ConformanceError } from '../conformance/conformance-case.ts'

/** Broken implementations that test a conformance kit. */
export interface FaultTable<Fault> {
  /** By the case that must reject it, then by its error. */
  readonly refused: Readonly<Record<string, Readonly<Record<string, Fault>>>>
  /** Errors that no case can detect, with the reason. */
  readonly survivors: Readonly<Record<string, { readonly reason: string; readonly fault: Fault }>>
}

export interface KitVerdict {
  /** Cases that reject the correct implementation. */
  readonly wronglyRejected: readonly string[]
  /** Errors that the case in the table does not detect. */
  readonly missed: readonly string[]
  /** Survivors of the table that a case rejects. */
  readonly noSurvivors: readonly string[]
  /** Cases without an error in the table. */
  readonly unproven: readonly string[]
  /** Rejections without the violated rule or without advice. */
  readonly vague: readonly string[]
  readonly faults: number
  /** Share of the errors that the kit rejects, 0 to 1. */
  readonly share: number
}

/** Returns the error of each failing case. The cases run concurrently. */
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
 * Runs a kit against a correct implementation and every broken one.
 *
 * @param kit returns the cases for the implementation with this error; without one, for the correct implementation
 */
export async function judgeKit<Fault>(
  kit: (fault?: Fault) => readonly ConformanceCase[],
  { refused, survivors }: FaultTable<Fault>,
): Promise<KitVerdict> {
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
