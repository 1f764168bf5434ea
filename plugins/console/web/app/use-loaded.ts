import { useCallback, useEffect, useState } from 'react'

interface Loaded<T> {
  /** The last result. It is kept while a newer result is loading. */
  readonly data: T | undefined
  readonly error: unknown
  readonly isLoading: boolean
  reload(): void
}

/**
 * Calls `load` on the first rendering, when `load` changes, and on demand. Only the result of the last call is used.
 */
export function useLoaded<T>(load: () => Promise<T>): Loaded<T> {
  const [state, setState] = useState<{ data: T | undefined; error: unknown; isLoading: boolean }>({
    data: undefined,
    error: undefined,
    isLoading: true,
  })
  const [attempt, setAttempt] = useState(0)
  // biome-ignore lint/correctness/useExhaustiveDependencies: each attempt calls `load` again
  useEffect(() => {
    let isCurrent = true
    setState(({ data }) => ({ data, error: undefined, isLoading: true }))
    load().then(
      (data) => isCurrent && setState({ data, error: undefined, isLoading: false }),
      (error: unknown) => isCurrent && setState({ data: undefined, error, isLoading: false }),
    )
    return () => {
      isCurrent = false
    }
  }, [load, attempt])
  return { ...state, reload: useCallback(() => setAttempt((count) => count + 1), []) }
}
