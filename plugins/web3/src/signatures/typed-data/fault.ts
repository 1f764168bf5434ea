/** What is wrong with typed data. For tests and logs of developers; callers get one stable reason. */
export class TypedDataFault extends Error {
  override readonly name = 'TypedDataFault'
}
