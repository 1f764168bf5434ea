import { type UseMutationResult, useMutation, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'

interface WriteHandlers<Result, Input> {
  onSuccess?(result: Result, input: Input): void
  onError?(error: Error, input: Input): void
  /** Runs after success and after an error. */
  onSettled?(): void
}

/** The write was cancelled. This error is never shown. */
class Cancelled extends Error {}

/**
 * Returns a write that the user can start and cancel. All writes of the back office use it. It is aborted when its part
 * of the page is closed or left, and when that part starts it again. The server may have executed it by then, so all
 * displayed data is read again. No handler runs after that. Neither input nor result is cached.
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
