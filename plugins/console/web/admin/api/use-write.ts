import { type UseMutationResult, useMutation, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'

interface WriteHandlers<Result, Input> {
  onSuccess?(result: Result, input: Input): void
  onError?(error: Error, input: Input): void
  /** Called after success and after an error. */
  onSettled?(): void
}

/** Error of a write that was cancelled. It is never shown. */
class Cancelled extends Error {}

/**
 * Returns a write that the user can start and cancel. All writes of the back office use this hook. A write is aborted
 * when the component that uses the hook unmounts, and when this component starts the write again. The server may
 * already have executed an aborted write, so all displayed data is read again. After an abort, no handler is called.
 * Input and result are not cached.
 *
 * @param write calls the server with the given signal
 */
export function useWrite<Result, Input = void>(
  write: (signal: AbortSignal, input: Input) => Promise<Result>,
  { onSuccess, onError, onSettled }: WriteHandlers<Result, Input> = {},
): UseMutationResult<Result, Error, Input> {
  const client = useQueryClient()
  const running = useRef<AbortController>(undefined)
  useEffect(
    () => () => {
      if (running.current === undefined) return
      running.current.abort()
      void client.invalidateQueries()
    },
    [client],
  )
  return useMutation({
    async mutationFn(input: Input) {
      running.current?.abort()
      const own = new AbortController()
      running.current = own
      const result = await write(own.signal, input).catch((error: unknown) => {
        throw own.signal.aborted ? new Cancelled() : error
      })
      if (own.signal.aborted) throw new Cancelled()
      return result
    },
    onSuccess: (result, input) => onSuccess?.(result, input),
    onError(error, input) {
      if (!(error instanceof Cancelled)) onError?.(error, input)
    },
    onSettled(_, error) {
      if (error instanceof Cancelled) return
      running.current = undefined
      onSettled?.()
    },
    gcTime: 0,
  })
}
