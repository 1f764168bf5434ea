import { type UseMutationResult, useMutation, useQueryClient } from '@tanstack/react-query'
import { useEffect, useRef } from 'react'

interface WriteHandlers<Result, Input> {
  onSuccess?(result: Result, input: Input): void
  onError?(error: Error, input: Input): void
  /** Runs after either of them. */
  onSettled?(): void
}

/** The write was cancelled. Nobody is shown this error. */
class Cancelled extends Error {}

/**
 * A call that somebody starts and may cancel: the only way in which the back office writes. It is aborted when the part of
 * the page that started it is closed or left, and when that part starts it again. The server may have done it by then, so
 * everything that is shown is read again. No handler runs after that. Neither input nor result is kept in a cache.
 *
 * @param write calls the server with the signal that it is given
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
