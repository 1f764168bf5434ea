/** What `decide` answers or throws, at once or later. An async function would cost as much as deciding. */
export function promised<T>(decide: () => T | Promise<T>): Promise<T> {
  try {
    const result = decide()
    return result instanceof Promise ? result : Promise.resolve(result)
  } catch (error) {
    return Promise.reject(error)
  }
}
