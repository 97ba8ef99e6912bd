//! Operations of the definition, with an inline document or one in a file.

use capdeck_definition::{GraphQlEndpoint, GraphQlOperation};

use super::{operation::CompiledOperation, problems::GraphQlProblems, schema::ApiSchema};

#[derive(Debug)]
pub(super) struct ConfiguredDocument {
    pub(super) name: String,
    pub(super) settings: GraphQlOperation,
    text: Result<String, String>,
}

impl ConfiguredDocument {
    pub(super) async fn load_all(block: &GraphQlEndpoint, limit: u64) -> Vec<Self> {
        let mut documents = Vec::with_capacity(block.operations.len());
        for (name, settings) in &block.operations {
            let text = match (&settings.document, &settings.document_path) {
                (Some(text), _) => Ok(text.clone()),
                (None, Some(path)) => load(path, limit).await,
                (None, None) => Err("it has neither `document` nor `documentPath`".to_owned()),
            };
            documents.push(Self { name: name.clone(), settings: settings.clone(), text });
        }
        documents
    }

    pub(super) fn compile(
        &self,
        schema: &ApiSchema,
        problems: &mut GraphQlProblems,
    ) -> Option<CompiledOperation> {
        let name = self.settings.operation_name.as_deref();
        let compiled = self.text.clone().and_then(|text| {
            CompiledOperation::compile(schema, text, name).map_err(|error| error.to_string())
        });
        compiled.map_err(|reason| problems.push(&self.name, reason)).ok()
    }

    pub(super) fn description(&self, operation: &CompiledOperation) -> String {
        self.settings.description.clone().unwrap_or_else(|| {
            let kind = if operation.is_mutation { "mutation" } else { "query" };
            let name = operation.name.as_ref().unwrap_or(&self.name);
            format!("The GraphQL {kind} `{name}`")
        })
    }
}

async fn load(path: &str, limit: u64) -> Result<String, String> {
    let unreadable = |error: std::io::Error| format!("`{path}` cannot be read: {error}");
    let facts = tokio::fs::metadata(path).await.map_err(unreadable)?;
    if !facts.is_file() {
        return Err(unreadable(std::io::Error::other("it is no file")));
    }
    if facts.len() > limit {
        return Err(format!("`{path}` is larger than {limit} bytes"));
    }
    tokio::fs::read_to_string(path).await.map_err(unreadable)
}
