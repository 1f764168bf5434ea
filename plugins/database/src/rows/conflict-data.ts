interface Versioned {
  readonly version: number
  /** Name of who wrote it last, where that is known. */
  readonly updatedBy?: string | null | undefined
  readonly updatedAt: Date
}

/** What the refusal of a change says of the row that stands there instead of the one that the change started from (decision E15). */
export const conflictData = ({ version, updatedBy, updatedAt }: Versioned) => ({
  currentVersion: version,
  updatedBy: updatedBy ?? null,
  updatedAt: updatedAt.toISOString(),
})
