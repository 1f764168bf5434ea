/** A replacement in one source file. */
export interface SourceEdit {
  /** Source file that is changed, below the root of the repository. */
  readonly file: string
  /** Part of the source file. It must occur exactly once. */
  readonly fragment: string
  /** Text that replaces the fragment. */
  readonly replacement: string
}

/**
 * A change of the source that breaks the product. The tests must notice it: `npm run proof:changes` applies each change to a
 * copy of the repository and runs the named test files.
 */
export interface RecordedChange extends SourceEdit {
  /** Replacements in other files that belong to the change. */
  readonly others?: readonly SourceEdit[]
  /** The resulting wrong behaviour in one sentence. */
  readonly effect: string
  /** Ids of the broken requirements. For each, a test with the id in its name must fail. May be empty. */
  readonly breaks: readonly string[]
  /** Test files below the root. Each must fail. */
  readonly noticedBy: readonly string[]
  /**
   * Beginning of the titles of the tests that run in these files. A second text selects subtests of these tests in the
   * same way. If omitted, all tests run.
   */
  readonly only?: readonly string[]
}

/**
 * Returns the source with the change.
 *
 * @throws Error if the fragment does not occur exactly once, or if the change has no effect
 */
export function changedSource({ file, fragment, replacement }: SourceEdit, source: string): string {
  const parts = source.split(fragment)
  if (fragment === '' || parts.length !== 2) {
    throw new Error(`${file}: the fragment occurs ${parts.length - 1} times, not once: ${fragment}`)
  }
  if (fragment === replacement) throw new Error(`${file}: fragment and replacement are equal: ${fragment}`)
  return parts.join(replacement)
}
